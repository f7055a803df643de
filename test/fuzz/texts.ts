/** Texts that have broken servers before: paths, header values, addresses, JSON that is deep or wide. */
import type { Chance } from "../harness/chance.ts"

type Some = readonly [string, ...ReadonlyArray<string>]

const SEGMENTS: Some = [
  "..",
  "../../../../etc/passwd",
  "..%2f..%2f..%2fetc%2fpasswd",
  "..%5c..%5cwindows%5cwin.ini",
  "%2e%2e/%2e%2e/package.json",
  "%252e%252e%252fetc",
  "....//....//etc/passwd",
  "%00",
  "a%00.js",
  "%ff%fe",
  "%c0%ae%c0%ae%c0%af",
  "%e0%80%af",
  "%",
  "%zz",
  "%u002e",
  ";a=b",
  "*",
  "__proto__",
  "constructor",
  "a".repeat(300),
  "A".repeat(26),
  "%0d%0aSet-Cookie:%20a=b",
  "%E2%80%AE",
  "\u00e9\u00ff",
  "",
]

const QUERIES: Some = [
  "",
  "?",
  "?a=b&a=c",
  "?__proto__[polluted]=yes",
  "?constructor.prototype.polluted=yes",
  "?campaign=%00&since=-1",
  "?campaign=default&since=99999999999999999999",
  "?firstSlot=0&slots=999999999999999",
  "?limit=100&next=AAAA",
  "?limit=0",
  "?next=%7B%7D&previous=%5B%5D",
  "?id=AAAAAAAAAAAAAAAAAAAAAA",
  "?negotiateVersion=1",
  "?token=%ff",
  `?q=${"x".repeat(2_000)}`,
  "?%=%",
]

const VALUES: Some = [
  "",
  "x",
  "null",
  "a, b, c",
  "\u00e9\u00ff\u0080",
  "\t tab \t",
  "() { :;}; echo vulnerable",
  '{"time":"forged","outcome":"forged"}',
  "\\r\\n\\u001b[31m",
  "%0d%0aSet-Cookie: a=b",
  ["$", "{jndi:ldap://127.0.0.1/a}"].join(""),
  "'; DROP TABLE users; --",
  "9".repeat(40),
  "a".repeat(4_000),
  `${"a,".repeat(1_500)}b`,
  `${" ".repeat(1_000)}x`,
  "gzip;q=0.000000000000000000000000000001",
  "bytes=0-,0-,0-,0-",
]

const NAMES: Some = [
  "accept",
  "accept-encoding",
  "authorization",
  "content-encoding",
  "cookie",
  "expect",
  "forwarded",
  "host",
  "if-none-match",
  "origin",
  "range",
  "referer",
  "sec-fetch-site",
  "te",
  "trailer",
  "upgrade",
  "user-agent",
  "via",
  "x-api-token",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-http-method-override",
  "x-method-override",
  "x-original-url",
  "x-rewrite-url",
  "webhook-id",
  "webhook-timestamp",
  "webhook-signature",
  "__proto__",
  "constructor",
]

export const hostileSegment = (chance: Chance): string => chance.pick(...SEGMENTS)
export const hostileQuery = (chance: Chance): string => chance.pick(...QUERIES)
export const hostileHeader = (chance: Chance): readonly [string, string] => [
  chance.pick(...NAMES),
  chance.pick(...VALUES),
]

/** One of a few addresses, so that the state kept for them is bounded; some send so many requests that they are limited. */
export const forwardedFor = (chance: Chance): string => {
  const busy = chance.percent(10)
  const n = chance.below(256)
  const address = busy ? "93.184.215.1" : chance.percent(25) ? `2606:2800:${n}::1` : `93.184.216.${n}`
  switch (chance.below(12)) {
    case 0:
      return `${chance.pick("unknown", "127.0.0.1", "::1", "10.0.0.1, 10.0.0.2", "999.1.1.1", "")}, ${address}`
    case 1:
      return address.includes(":") ? `[${address}]:4711` : `${address}:4711`
    case 2:
      return `${"192.0.2.1, ".repeat(chance.between(1, 500))}${address}`
    case 3:
      return address.includes(":") ? address : `::ffff:${address}`
    default:
      return address
  }
}

/** JSON that nests, repeats or is wide, up to a little more than the gate takes. */
export const heavyJson = (chance: Chance): string => {
  const depth = chance.pick(100, 1_000, 10_000, 30_000)
  switch (chance.below(7)) {
    case 0:
      return "[".repeat(depth) + "]".repeat(depth)
    case 1:
      return `${'{"a":'.repeat(Math.floor(depth / 3))}1${"}".repeat(Math.floor(depth / 3))}`
    case 2:
      return `{"dynamicVariables":${'{"a":'.repeat(Math.floor(depth / 3))}1${"}".repeat(Math.floor(depth / 3))}}`
    case 3:
      return `{"type":1,"arguments":${"[".repeat(depth)}${"]".repeat(depth)}}`
    case 4:
      return `{${Array.from({ length: chance.pick(100, 4_000) }, (_, n) => `"k${n}":${n}`).join()}}`
    case 5:
      return `{${Array.from({ length: chance.pick(100, 2_000) }, () => '"metadata":{"a":"b"}').join()}}`
    default:
      return "[".repeat(depth)
  }
}
