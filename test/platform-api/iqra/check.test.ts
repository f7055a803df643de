import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { layer } from "../../../src/platform-api/layer.ts"
import { PlatformApi } from "../../../src/platform-api/PlatformApi.ts"
import {
  campaign as campaignOf,
  http,
  type Scripted,
  scriptedServer,
  sessionConfig,
  settings,
} from "../../platform/support.ts"
import { against, json, no, ok } from "../support.ts"

describe("reading", () => {
  describe("the check of a campaign's settings", () => {
    const business = ok({ name: "Shop" })
    const campaign = ok({ name: "Front", sessionEnded: { url: "https://gate.example/hook?secret=s" } })
    const regions = ok([{ id: "eu" }, { id: "us" }])
    const verify = (answers: ReadonlyArray<Scripted>) => {
      let n = 0
      return against(
        () => answers[Math.min(n++, answers.length - 1)] ?? json(500, {}),
        (api, received) =>
          Effect.map(api.verify("default"), (findings) => ({
            findings,
            states: findings.map(({ state }) => state),
            says: findings.map(({ detail }) => detail).join("\n"),
            paths: received.map(({ method, url }) => `${method} ${url}`),
          })),
      )
    }

    it.effect("shows names of the platform on one line, of a length that somebody reads", () =>
      Effect.gen(function* () {
        const many = ok(Array.from({ length: 2_000 }, (_, at) => ({ id: `region-${at}` })))
        const { findings } = yield* verify([ok({ name: "Shop\u001b[2J\nok    region: eu" }), campaign, many])
        assert.include(findings[0]?.detail, "(Shop [2J ok    region: eu)")
        for (const { detail } of findings) assert.isAtMost(detail.length, 1_000)
      }),
    )

    it.effect("checks business, web campaign and region, each with its own harmless read", () =>
      Effect.gen(function* () {
        const { paths, says, states } = yield* verify([business, campaign, regions])
        assert.deepStrictEqual(states, ["ok", "ok", "ok"])
        assert.deepStrictEqual(paths, [
          "GET /api/v1/business/b1",
          "GET /api/v1/business/b1/webcampaigns/c1",
          "GET /api/v1/regions",
        ])
        assert.include(says, "business b1 (Shop)")
        assert.include(says, "https://gate.example/hook")
        assert.notInclude(says, "secret")
      }),
    )

    it.effect.each<[string, ReadonlyArray<Scripted>, RegExp]>([
      [
        "a wrong campaign",
        [business, no("W:WEB_CAMPAIGN_NOT_FOUND", "no such web campaign", 404)],
        /\.WebCampaignId: no such/,
      ],
      [
        "a wrong region",
        [business, campaign, ok([{ id: "mars" }])],
        /\.DefaultRegionId: the platform has no region eu; it has mars/,
      ],
      ["a wrong business", [no("B:BUSINESS_NOT_FOUND", "no such business", 404)], /\.BusinessId: no such business/],
      ["a wrong key", [json(401, { detail: "Invalid token." })], /\.ApiSecretToken: Invalid token\./],
      [
        "a wrong business, or a key that is restricted to other businesses",
        [no("B:RESTRICTED_API_KEY", "this key is restricted to other businesses", 403)],
        /VoiceAiPlatform\.BusinessId or VoiceAiPlatform\.ApiSecretToken: this key is restricted to other businesses/,
      ],
      ["an address without an API", [{ status: 404, body: "" }], /\.BaseUrl: there is no platform API/],
      ["another API", [json(404, { detail: "Not Found" })], /\.BaseUrl: there is no platform API/],
      [
        "plain HTTP for a server that speaks TLS",
        [{ status: 400, body: "<html>The plain HTTP request was sent to HTTPS port</html>" }],
        /\.BaseUrl: there is no platform API .*; if the server speaks TLS, the address begins with https:\/\//,
      ],
      [
        "plain HTTP for a server that closes it",
        ["reset"],
        /\.BaseUrl: the connection .*its address begins with https:/,
      ],
      [
        "a page",
        [{ status: 200, body: "<!doctype html>" }],
        /\.BaseUrl: .*not in the platform's format: check BaseUrl/,
      ],
    ])("names the setting of %s", ([, answers, words]) =>
      Effect.gen(function* () {
        const { says, states } = yield* verify(answers)
        assert.strictEqual(states.filter((state) => state === "failed").length, 1, says)
        assert.match(says, words)
      }),
    )

    it.effect.each<[string, Scripted, string, string]>([
      [
        "the local platform without the path",
        no("ROUTE_NOT_FOUND", "there is no such endpoint or page", 404),
        "",
        "api/v1",
      ],
      ["another web server", { status: 404, body: "<h1>Not Found</h1>" }, "", "api/v1"],
      ["the platform's pages", { status: 200, body: "<!doctype html>" }, "", "api/v1"],
      ["a part of the path", json(404, { detail: "Not Found" }), "api/", "api/v1"],
    ])("says what the address probably lacks: %s", ([, answer, path, expected]) =>
      Effect.gen(function* () {
        const server = yield* scriptedServer(() => answer)
        const configured = campaignOf({ BaseUrl: `${server.url}${path}` })
        const api = yield* Effect.provide(PlatformApi, layer.pipe(Layer.provide([settings(configured), http])))
        const [found] = yield* api.verify("default")
        assert.strictEqual(found?.state, "failed")
        assert.include(found?.detail, "VoiceAiPlatform.BaseUrl: ")
        assert.include(found?.detail, `; the path is probably missing: ${server.url}${expected}`)
      }).pipe(Effect.scoped),
    )

    it.effect("adds no path to an address that has it", () =>
      Effect.gen(function* () {
        for (const answer of [
          { status: 404, body: "" },
          { status: 200, body: "<!doctype html>" },
        ]) {
          assert.notInclude((yield* verify([answer])).says, "path is probably missing")
        }
      }),
    )

    it.effect("names the setting when https is set for a server without TLS, and nothing was sent", () =>
      Effect.gen(function* () {
        const server = yield* scriptedServer(() => business)
        const configured = campaignOf({ BaseUrl: `${server.url.replace(/^http:/, "https:")}api/v1/` })
        const api = yield* Effect.provide(PlatformApi, layer.pipe(Layer.provide([settings(configured), http])))
        const [found] = yield* api.verify("default")
        assert.strictEqual(found?.state, "failed")
        assert.match(
          found?.detail ?? "",
          /^VoiceAiPlatform\.BaseUrl: cannot connect to 127\.0\.0\.1:\d+ .*it does not answer in TLS: if it speaks plain HTTP, its address begins with http:/,
        )
        const error = yield* Effect.flip(api.initiate(sessionConfig(), "a"))
        assert.deepInclude(error.reason, { _tag: "Unavailable", mayHaveHappened: false })
      }).pipe(Effect.scoped),
    )

    it.effect("blames no setting when the platform itself fails", () =>
      Effect.gen(function* () {
        const { says, states } = yield* verify([json(500, {})])
        assert.strictEqual(states[0], "failed")
        assert.match(says, /^the platform fails: /)
        assert.notInclude(says, "BaseUrl")
        const half = yield* verify([business, json(502, {}), json(502, {}), regions])
        assert.deepStrictEqual(half.states, ["ok", "not_checked", "ok"])
        assert.include(half.says, "it could not be read: ")
        assert.notInclude(half.says, "does not reveal")
      }),
    )

    it.effect("reports what the platform does not reveal", () =>
      Effect.gen(function* () {
        const may = no("R:PERMISSION_MISSING", "this key needs the permission", 403)
        for (const silent of [{ status: 404, body: "" }, no("ROUTE_NOT_FOUND", "no endpoint", 404), may]) {
          const { findings } = yield* verify([business, silent, silent])
          assert.deepStrictEqual(
            findings.map(({ state }) => state),
            ["ok", "not_checked", "not_checked"],
          )
        }
      }),
    )
  })
})
