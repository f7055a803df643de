import { createServer } from "node:http"
import { describe, expect, it } from "@effect/vitest"
import { Effect, type Redacted } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { type IpFacts, noFacts } from "../../src/IpIntel.ts"
import type { Provider } from "../../src/ip-intel/facts.ts"
import { ip2location } from "../../src/ip-intel/ip2location.ts"
import { ipapiIs } from "../../src/ip-intel/ipapi-is.ts"
import { ipinfo } from "../../src/ip-intel/ipinfo.ts"
import { proxycheck } from "../../src/ip-intel/proxycheck.ts"
import type { HttpProviderOptions } from "../../src/ip-intel/request.ts"
import { vpnapi } from "../../src/ip-intel/vpnapi.ts"
import { type Answer, FakeHttp, ipSettings, KEY, printed } from "./support.ts"

const IP = "8.8.8.8"
const vpn: IpFacts = { ...noFacts, vpn: true }
const proxy: IpFacts = { ...noFacts, proxy: true }
const tor: IpFacts = { ...noFacts, tor: true }
const datacenter: IpFacts = { ...noFacts, datacenter: true }
const relay: IpFacts = { ...noFacts, relay: true }
/** The provider supports these facts but did not report them. */
const unknown: IpFacts = { vpn: null, proxy: null, tor: null, datacenter: null, relay: null }

interface Case {
  readonly make: (options: HttpProviderOptions) => Provider
  /** the URL for `IP`, without the key */
  readonly url: string
  /** the same with `BaseUrl` set to http://fake.example/ip/ */
  readonly urlAtBase: string
  readonly keyIn: "query" | "bearer"
  readonly facts: ReadonlyArray<readonly [name: string, body: unknown, facts: IpFacts]>
  /** answers with status 200 that are failures */
  readonly failures: ReadonlyArray<readonly [name: string, body: unknown, reason: string]>
  readonly forbidden: "quota" | "unauthorized"
}

const detections = (flags: object) => ({ status: "ok", [IP]: { detections: flags }, query_time: 3 })

const ipapi = { ip: IP, is_bogon: false, is_datacenter: false, is_tor: false, is_proxy: false, is_vpn: false }
const allClear = { vpn: false, proxy: false, tor: false, hosting: false }
const security = { vpn: false, proxy: false, tor: false, relay: false }
const ip2proxy = { is_vpn: false, is_tor: false, is_data_center: false, is_public_proxy: false, is_web_proxy: false }
const anonymous = { is_vpn: false, is_proxy: false, is_tor: false, is_relay: false }

const cases: Record<string, Case> = {
  "ipapi.is": {
    make: ipapiIs,
    url: `https://api.ipapi.is/?q=${IP}`,
    urlAtBase: `http://fake.example/ip/?q=${IP}`,
    keyIn: "query",
    forbidden: "quota",
    facts: [
      ["clean", ipapi, noFacts],
      ["VPN", { ...ipapi, is_vpn: true, is_abuser: true, vpn: { service: "x" } }, vpn],
      ["proxy", { ...ipapi, is_proxy: true }, proxy],
      ["Tor", { ...ipapi, is_tor: true }, tor],
      ["datacenter", { ...ipapi, is_datacenter: true, datacenter: { datacenter: "x" } }, datacenter],
      ["null, which is not clean", { ...ipapi, is_vpn: null, is_tor: true }, { ...tor, vpn: null }],
      ["absent keys, which are not clean", { ip: IP, is_vpn: true }, { ...unknown, vpn: true, relay: false }],
    ],
    failures: [
      ["with a null alone", { ip: IP, is_vpn: null }, "malformed"],
      ["with no fact that can be blocked", { ip: IP, is_bogon: false }, "malformed"],
      ["without any fact", { ip: IP }, "malformed"],
      ["with an error", { error: `no such key ${KEY}` }, "rejected"],
      ["with facts of another type", { ip: IP, is_vpn: "yes" }, "malformed"],
    ],
  },
  "proxycheck.io": {
    make: proxycheck,
    url: `https://proxycheck.io/v3/${IP}`,
    urlAtBase: `http://fake.example/ip/v3/${IP}`,
    keyIn: "query",
    forbidden: "unauthorized",
    facts: [
      ["clean", detections({ vpn: false, proxy: false, tor: false, hosting: false, risk: 0 }), noFacts],
      ["VPN", detections({ ...allClear, vpn: true, risk: 73 }), vpn],
      ["proxy", detections({ ...allClear, proxy: true }), proxy],
      ["Tor", detections({ ...allClear, tor: true }), tor],
      ["datacenter", detections({ ...allClear, hosting: true }), datacenter],
      [
        "absent and null keys, which are not clean",
        detections({ tor: false, vpn: null }),
        { ...unknown, tor: false, relay: false },
      ],
      [
        "VPN in a hosting range, with a warning",
        { ...detections({ ...allClear, vpn: true, hosting: true }), status: "warning", message: "near the limit" },
        { ...vpn, datacenter: true },
      ],
    ],
    failures: [
      ["denied", { status: "denied", message: `exhausted for ${KEY}` }, "quota"],
      ["denied although the address is there", { ...detections({}), status: "denied" }, "quota"],
      ["an error", { status: "error", message: "No valid IP addresses supplied." }, "rejected"],
      ["a warning without the address", { status: "warning", message: "x" }, "malformed"],
      ["another address", { status: "ok", "9.9.9.9": { detections: {} } }, "malformed"],
      ["with no detection", detections({}), "malformed"],
      ["without detections", { status: "ok", [IP]: {} }, "malformed"],
      ["without status", { [IP]: { detections: {} } }, "malformed"],
    ],
  },
  "vpnapi.io": {
    make: vpnapi,
    url: `https://vpnapi.io/api/${IP}`,
    urlAtBase: `http://fake.example/ip/api/${IP}`,
    keyIn: "query",
    forbidden: "unauthorized",
    facts: [
      ["clean", { ip: IP, security: { vpn: false, proxy: false, tor: false, relay: false } }, noFacts],
      ["VPN", { ip: IP, security: { ...security, vpn: true } }, vpn],
      ["proxy", { ip: IP, security: { ...security, proxy: true } }, proxy],
      ["Tor", { ip: IP, security: { ...security, tor: true } }, tor],
      ["relay, which is no VPN", { ip: IP, security: { ...security, vpn: true, relay: true } }, relay],
      [
        "absent keys, which are not clean; it never reports datacenters",
        { ip: IP, security: { vpn: true, tor: null } },
        { ...unknown, vpn: true, datacenter: false },
      ],
    ],
    failures: [
      ["with nothing in security", { ip: IP, security: {} }, "malformed"],
      ["with a relay alone", { ip: IP, security: { relay: false } }, "malformed"],
      ["only a message", { message: `invalid key ${KEY}` }, "malformed"],
      ["security of another type", { security: "none" }, "malformed"],
    ],
  },
  "ip2location.io": {
    make: ip2location,
    url: `https://api.ip2location.io/?ip=${IP}&format=json`,
    urlAtBase: `http://fake.example/ip/?ip=${IP}&format=json`,
    keyIn: "query",
    forbidden: "unauthorized",
    facts: [
      ["clean", { ip: IP, is_proxy: false, proxy: ip2proxy }, noFacts],
      ["no proxy, without details", { ip: IP, is_proxy: false }, { ...noFacts, datacenter: null }],
      ["some proxy, without details", { ip: IP, is_proxy: true }, { ...unknown, proxy: true, relay: false }],
      ["VPN, which is no proxy", { ip: IP, is_proxy: true, proxy: { ...ip2proxy, is_vpn: true } }, vpn],
      ["public proxy", { ip: IP, is_proxy: true, proxy: { ...ip2proxy, is_public_proxy: true } }, proxy],
      ["web proxy", { ip: IP, is_proxy: true, proxy: { ...ip2proxy, is_web_proxy: true } }, proxy],
      ["residential proxy", { ip: IP, is_proxy: true, proxy: { ...ip2proxy, is_residential_proxy: true } }, proxy],
      [
        "no residential proxy",
        { ip: IP, is_proxy: false, proxy: { ...ip2proxy, is_residential_proxy: false } },
        noFacts,
      ],
      [
        "null of residential proxies, which is not clean",
        { ip: IP, is_proxy: false, proxy: { ...ip2proxy, is_residential_proxy: null } },
        { ...noFacts, proxy: null },
      ],
      [
        "consumer privacy network, which is a relay and no VPN",
        { ip: IP, is_proxy: true, proxy: { ...ip2proxy, is_vpn: true, is_consumer_privacy_network: true } },
        relay,
      ],
      ["Tor", { ip: IP, is_proxy: true, proxy: { ...ip2proxy, is_tor: true } }, tor],
      ["datacenter", { ip: IP, is_proxy: false, proxy: { ...ip2proxy, is_data_center: true } }, datacenter],
      [
        "absent details, which are not clean",
        { ip: IP, is_proxy: true, proxy: { is_web_proxy: false, is_tor: false } },
        { ...unknown, tor: false, relay: false },
      ],
    ],
    failures: [
      ["with nothing in proxy", { ip: IP, proxy: {} }, "malformed"],
      ["with nothing in proxy, although is_proxy is false", { ip: IP, is_proxy: false, proxy: {} }, "malformed"],
      ["without any fact", { ip: IP, country_code: "US" }, "malformed"],
      ["an error", { error: { error_code: 10001, error_message: `bad key ${KEY}` } }, "rejected"],
    ],
  },
  "ipinfo.io": {
    make: ipinfo,
    url: `https://api.ipinfo.io/lookup/${IP}`,
    urlAtBase: `http://fake.example/ip/lookup/${IP}`,
    keyIn: "bearer",
    forbidden: "unauthorized",
    facts: [
      ["clean", { ip: IP, anonymous, is_hosting: false }, noFacts],
      ["VPN", { ip: IP, anonymous: { ...anonymous, is_vpn: true }, is_hosting: false }, vpn],
      ["proxy", { ip: IP, anonymous: { ...anonymous, is_proxy: true }, is_hosting: false }, proxy],
      ["residential proxy", { ip: IP, anonymous: { ...anonymous, is_res_proxy: true }, is_hosting: false }, proxy],
      [
        "no residential proxy",
        { ip: IP, anonymous: { ...anonymous, is_res_proxy: false }, is_hosting: false },
        noFacts,
      ],
      ["Tor", { ip: IP, anonymous: { ...anonymous, is_tor: true }, is_hosting: false }, tor],
      ["relay", { ip: IP, anonymous: { ...anonymous, is_relay: true }, is_hosting: false }, relay],
      ["datacenter", { ip: IP, anonymous, is_hosting: true }, datacenter],
      [
        "absent and null keys, which are not clean",
        { ip: IP, anonymous: { is_proxy: false, is_res_proxy: null, is_tor: false } },
        { ...unknown, tor: false },
      ],
      ["not anonymous in any way", { ip: IP, is_anonymous: false, is_hosting: false }, noFacts],
      [
        "anonymous without saying how",
        { ip: IP, is_anonymous: true, is_hosting: true },
        { ...unknown, proxy: true, datacenter: true },
      ],
    ],
    failures: [
      ["with nothing in anonymous", { ip: IP, anonymous: {} }, "malformed"],
      ["without any fact", { ip: IP, country: "US" }, "malformed"],
    ],
  },
}

const apiKey: Redacted.Redacted<string> | undefined = ipSettings().ApiKey

describe.each(Object.entries(cases))("%s", (name, provider) => {
  const ask = (answer: Answer) => {
    const http = new FakeHttp(() => answer)
    return provider.make({ client: http.client, apiKey, baseUrl: undefined }).lookup(IP)
  }
  const [, cleanBody] = provider.facts[0] ?? []

  it.effect.each(provider.facts)("understands: %s", ([, body, facts]) =>
    Effect.gen(function* () {
      expect(yield* ask({ body })).toEqual(facts)
    }),
  )

  it.effect.each(provider.failures)("fails on an answer: %s", ([, body, reason]) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(ask({ body }))
      expect(error).toMatchObject({ _tag: "IpIntelFailed", provider: name, reason })
      expect(printed(error)).not.toContain(KEY)
    }),
  )

  it.effect.each<readonly [status: number, reason: string]>([
    [400, "rejected"],
    [401, "unauthorized"],
    [402, "quota"],
    [403, provider.forbidden],
    [404, "rejected"],
    [429, "quota"],
    [500, "unreachable"],
    [503, "unreachable"],
  ])("fails on HTTP %s", ([status, reason]) =>
    Effect.gen(function* () {
      // even with a body that would be clean
      const error = yield* Effect.flip(ask({ status, body: cleanBody }))
      expect(error).toMatchObject({ provider: name, reason })
      expect(error.message).toContain(String(status))
      expect(printed(error)).not.toContain(KEY)
    }),
  )

  it.effect.each(["<html>busy</html>", "", "[]", "null", "true", '{"cut":'])("fails on the body %j", (body) =>
    Effect.gen(function* () {
      expect((yield* Effect.flip(ask({ body }))).reason).toBe("malformed")
    }),
  )

  it.effect("fails without the key in the error when the connection is refused", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(ask("refused"))
      expect(error.reason).toBe("unreachable")
      expect(printed(error)).not.toContain(KEY)
    }),
  )

  it.effect("sends the key in the provider's way", () =>
    Effect.gen(function* () {
      const http = new FakeHttp(() => ({ body: cleanBody }))
      yield* provider.make({ client: http.client, apiKey, baseUrl: undefined }).lookup(IP)
      yield* provider.make({ client: http.client, apiKey: undefined, baseUrl: undefined }).lookup(IP)
      for (const baseUrl of ["http://fake.example/ip", "http://fake.example/ip/"]) {
        yield* provider.make({ client: http.client, apiKey: undefined, baseUrl }).lookup(IP)
      }
      const withKey = `${provider.url + (provider.url.includes("?") ? "&" : "?")}key=${KEY}`
      expect(http.requests).toEqual([
        provider.keyIn === "query"
          ? { url: withKey, authorization: undefined }
          : { url: provider.url, authorization: `Bearer ${KEY}` },
        { url: provider.url, authorization: undefined },
        { url: provider.urlAtBase, authorization: undefined },
        { url: provider.urlAtBase, authorization: undefined },
      ])
    }),
  )
})

describe("proxycheck.io", () => {
  it.effect("finds an IPv6 address that comes back in another spelling", () =>
    Effect.gen(function* () {
      const http = new FakeHttp(() => ({
        body: { status: "ok", "2606:4700:0:0:0:0:0:1111": { detections: { ...allClear, vpn: true } } },
      }))
      const provider = proxycheck({ client: http.client, apiKey: undefined, baseUrl: undefined })
      expect(yield* provider.lookup("2606:4700::1111")).toEqual(vpn)
    }),
  )
})

describe("over real HTTP", () => {
  /** A server on a free port that records paths and answers 200 with a body. */
  const server = (body: string) =>
    Effect.acquireRelease(
      Effect.callback<{ readonly baseUrl: string; readonly paths: Array<string>; readonly close: () => void }>(
        (resume) => {
          const paths: Array<string> = []
          const listening = createServer((request, response) => {
            paths.push(`${request.url} ${request.headers.authorization ?? ""} ${request.headers.traceparent ?? ""}`)
            response.end(body)
          }).listen(0, "127.0.0.1", () => {
            const address = listening.address()
            const port = typeof address === "object" && address !== null ? address.port : 0
            const close = () => {
              listening.closeAllConnections()
              listening.close()
            }
            resume(Effect.succeed({ baseUrl: `http://127.0.0.1:${port}`, paths, close }))
          })
        },
      ),
      ({ close }) => Effect.sync(close),
    )

  it.live("requests an IPv6 address with the key and without a trace id", () =>
    Effect.gen(function* () {
      const { baseUrl, paths } = yield* server(JSON.stringify({ security: { ...security, vpn: true } }))
      const client = yield* HttpClient.HttpClient
      const facts = yield* vpnapi({ client, apiKey, baseUrl }).lookup("2606:4700::1111").pipe(Effect.withSpan("test"))
      expect(facts).toEqual(vpn)
      expect(paths).toEqual([`/api/2606:4700::1111?key=${KEY}  `])
    }).pipe(Effect.provide(FetchHttpClient.layer)),
  )

  it.live("fails as unreachable when nothing listens", () =>
    Effect.gen(function* () {
      const closed = yield* server("")
      closed.close()
      const client = yield* HttpClient.HttpClient
      const error = yield* Effect.flip(vpnapi({ client, apiKey, baseUrl: closed.baseUrl }).lookup(IP))
      expect(error.reason).toBe("unreachable")
      expect(printed(error)).not.toContain(KEY)
    }).pipe(Effect.provide(FetchHttpClient.layer)),
  )

  it.live("fails as unreachable when the URL is invalid", () =>
    Effect.gen(function* () {
      const client = yield* HttpClient.HttpClient
      const error = yield* Effect.flip(ipapiIs({ client, apiKey, baseUrl: "not a url" }).lookup(IP))
      expect(error.reason).toBe("unreachable")
    }).pipe(Effect.provide(FetchHttpClient.layer)),
  )
})
