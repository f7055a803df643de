/**
 * The kinds of values that settings have: each a schema from the text in the file or the environment, and what to tell the
 * operator when the text does not fit.
 */
import { Effect, type Redacted, Schema, SchemaIssue, SchemaTransformation } from "effect"
import ipaddr from "ipaddr.js"
import { parseRange } from "../ip-intel/ranges.ts"
import { IP_PROVIDERS, type IpProvider, TRANSPORTS, type Transport } from "../Settings.ts"

/** How one text becomes a value. */
export interface Kind<A> {
  readonly schema: Schema.Codec<A, string>
  /** completes "expected …" */
  readonly expected: string
  /** the text is never shown */
  readonly secret: boolean
}

const kind = <A>(expected: string, schema: Schema.Codec<A, string>): Kind<A> => ({ schema, expected, secret: false })

const secret = (expected: string, schema: Schema.Codec<string, string>): Kind<Redacted.Redacted<string>> => ({
  schema: Schema.RedactedFromValue(schema),
  expected,
  secret: true,
})

/** A schema that reads a text with `parse`, which answers undefined when it does not fit. */
const parsed = <A>(to: Schema.Codec<A>, parse: (text: string) => A | undefined): Schema.Codec<A, string> =>
  Schema.String.pipe(
    Schema.decodeTo(
      to,
      SchemaTransformation.transformEffect<A, string>({
        decode: (text) => {
          const value = parse(text)
          return value === undefined ? Effect.fail(new SchemaIssue.InvalidValue()) : Effect.succeed(value)
        },
        encode: (value) => Effect.succeed(String(value)),
      }),
    ),
  )

const pattern = (regExp: RegExp) => Schema.String.check(Schema.isPattern(regExp))

export const wholeNumber = (minimum: number, maximum: number): Kind<number> =>
  kind(
    `a whole number from ${minimum} to ${maximum}`,
    pattern(/^\d{1,15}$/).pipe(
      Schema.decodeTo(Schema.Int.check(Schema.isBetween({ minimum, maximum })), SchemaTransformation.numberFromString),
    ),
  )

/** Up to 1, with at most four decimal places. */
export const fraction = (minimum: number): Kind<number> =>
  kind(
    `a number from ${minimum} to 1, such as 0.25`,
    pattern(/^(?:[01]|[01]?\.\d{1,4})$/).pipe(
      Schema.decodeTo(
        Schema.Number.check(Schema.isBetween({ minimum, maximum: 1 })),
        SchemaTransformation.numberFromString,
      ),
    ),
  )

const FLAGS = new Map([
  ["true", true],
  ["1", true],
  ["yes", true],
  ["on", true],
  ["false", false],
  ["0", false],
  ["no", false],
  ["off", false],
])

export const flag: Kind<boolean> = kind(
  "true or false",
  parsed(Schema.Boolean, (text) => FLAGS.get(text.toLowerCase())),
)

export const oneOf = <const L extends ReadonlyArray<string>>(literals: L): Kind<L[number]> =>
  kind(
    literals.join(" or "),
    parsed(Schema.Literals(literals), (text) => literals.find((literal) => literal === text.toLowerCase())),
  )

export const transport: Kind<Transport> = oneOf(TRANSPORTS)

const letters = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, "")

/** With or without the ending of the provider's domain. */
export const provider: Kind<IpProvider> = kind(
  `one of ${IP_PROVIDERS.join(", ")}`,
  parsed(Schema.Literals(IP_PROVIDERS), (text) =>
    IP_PROVIDERS.find((name) => [name, name.replace(/\.[a-z]+$/, "")].some((form) => letters(form) === letters(text))),
  ),
)

export const text: Kind<string> = kind("a text", pattern(/^\P{Cc}{1,4096}$/u))

/** Part of a path or a key of the store, so without a slash or a space. */
export const identifier: Kind<string> = kind("an id without spaces and slashes", pattern(/^[^\s/\\\p{Cc}]{1,256}$/u))

const NAME = /^(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$/

const isIp = (address: string): boolean =>
  ipaddr.IPv4.isValidFourPartDecimal(address) || (ipaddr.IPv6.isValid(address) && !address.includes("%"))

export const host: Kind<string> = kind(
  "an address or a host name to listen on, without a port",
  // digits and dots alone are an address or a mistake, never a name
  Schema.String.check(Schema.makeFilter((name) => isIp(name) || (NAME.test(name) && !/^[\d.]+$/.test(name)))),
)

/** What a `Host` header names, in lower case and without a port; IPv6 in brackets, as it stands there. Or `*`. */
export const allowedHost: Kind<string> = kind(
  "a host name or address without scheme, port and path, such as gate.example, or *; one a list item",
  parsed(Schema.String, (given) => {
    const name = given.toLowerCase()
    const bare = name.replace(/^\[(.*)\]$/, "$1")
    if (ipaddr.IPv6.isValid(bare) && !bare.includes("%")) return new URL(`http://[${bare}]`).hostname
    return name === "*" || isIp(name) || (NAME.test(name) && !/^[\d.]+$/.test(name)) ? name : undefined
  }),
)

/** An http(s) address without credentials, query and fragment; with exactly one slash at its end. */
export const baseUrl: Kind<string> = kind(
  "an http or https URL without user, query and fragment",
  parsed(Schema.String, (given) => {
    const url = URL.parse(given)
    if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return undefined
    if (url.username !== "" || url.password !== "" || /[?#]/.test(given)) return undefined
    return `${url.origin}${url.pathname.replace(/\/+$/, "")}/`
  }),
)

/** An origin as browsers send it (RFC 6454), or `*`. */
export const origin: Kind<string> = kind(
  "an origin such as https://shop.example (scheme, host, port and no path), or *; one a list item",
  parsed(Schema.String, (given) => {
    if (given === "*") return given
    const url = URL.parse(given)
    if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return undefined
    return /^https?:\/\/[^/?#@*\\\s]+\/?$/i.test(given) ? url.origin : undefined
  }),
)

const RANGES = new Map<string, ReadonlyArray<string>>([
  ["loopback", ["127.0.0.0/8", "::1/128"]],
  ["private", ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"]],
])

/** What the gate can compile, without the brackets and zones that only addresses of requests have. */
const isProxy = (given: string): boolean => !/[[\]%]/.test(given) && parseRange(given) !== undefined

/** `loopback` and `private` stand for several ranges. */
export const proxies: Kind<ReadonlyArray<string>> = kind(
  "an address, a CIDR such as 10.0.0.0/8 (no leading zeros), or one of the words loopback and private; one a list item",
  parsed(
    Schema.Array(Schema.String),
    (given) => RANGES.get(given.toLowerCase()) ?? (isProxy(given) ? [given] : undefined),
  ),
)

/** The platform's key is one header value; whoever pastes `Token …` gets told. */
export const platformKey = secret("the platform's API key alone, without spaces", pattern(/^[\x21-\x7e]{1,4096}$/))

export const webhookToken = secret(
  "a token of at least 16 characters, without spaces; several as a list",
  pattern(/^[\x21-\x7e]{16,1024}$/),
)

export const consoleToken = secret(
  "a token of at least 16 characters, without spaces",
  pattern(/^[\x21-\x7e]{16,1024}$/),
)

/** Standard Webhooks 1.0: 24 to 64 bytes. */
export const signingSecret = secret(
  "whsec_ and the base64 of 24 to 64 bytes; several as a list",
  Schema.String.check(
    Schema.makeFilter((given) => {
      const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(given)?.[1]
      if (base64 === undefined || base64.length % 4 === 1) return false
      const bytes = Buffer.from(base64, "base64")
      const canonical = bytes.toString("base64").replaceAll("=", "") === base64.replaceAll("=", "")
      return canonical && bytes.length >= 24 && bytes.length <= 64
    }),
  ),
)

export const providerKey = secret("the provider's API key, without spaces", pattern(/^[\x21-\x7e]{1,4096}$/))

/** What it says is read, and complained about, by `connection-string.ts`. */
export const connectionString = secret("a connection string", Schema.String)
