/** Each provider over HTTP: its requests, and how its answers are understood. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { proxycheck } from "../../src/ip-intel/providers/proxycheck.ts"
import { allClear, apiKey, cases, IP, vpn } from "./provider-cases.ts"
import { type Answer, FakeHttp, KEY, printed } from "./support.ts"

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
