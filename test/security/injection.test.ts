/** Callers' input is only text wherever it is used: in the log, in headers, in objects. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { settingsFrom } from "../../src/settings/given.ts"
import { resolveSettings } from "../../src/settings/reading/resolve.ts"
import { variablesOf } from "../../src/settings/sources/variables.ts"
import { type Header, http } from "../fuzz/wire.ts"
import { eventually } from "../harness/process.ts"
import { rawCall, servedTest } from "../support/gate-server.ts"
import { exchange } from "./raw.ts"

const REQUEST = "/api/session/request"
const FORGED =
  '{"time":"2026-01-01T00:00:00.000Z","method":"GET","path":"/forged","status":200,"outcome":"forged","address":"","millis":0}'
const ENTRY = ["time", "level", "message", "id", "method", "path", "status", "outcome", "address", "millis"]

/** Line breaks followed by text, in all encodings that could be interpreted as one. */
const BREAKS = [
  ...["\r\n", "\n", "\r", "%0d%0a", "%0a", "%0D%0A", "\\r\\n", "\u0085", "%E2%80%A8", "\u001b[2J\u001b[31m", "%1b[31m"],
  ...['"}\n', '","x":"', "\u0000", "%00", "\u009b31m", "\u2028"],
]

/** What a line names of the ticket that its request was about. */
const about = (entry: Readonly<Record<string, unknown>>): ReadonlyArray<string> =>
  ["campaign", "ticket"].filter((name) => name in entry)

describe("the access log", { timeout: 60_000 }, () => {
  servedTest(
    "has one line of JSON a request, whatever stands in it",
    { Security: { AllowedOrigins: ["*"] } },
    ({ log, port }) =>
      Effect.gen(function* () {
        const JSON_TYPE: Header = ["content-type", "application/json"]
        for (const end of BREAKS) {
          const text = `a${end}${FORGED}`
          const body = JSON.stringify({
            clientIdentifier: text.replace(/[/\\]/g, "_"),
            campaignId: text,
            dynamicVariables: { [text.slice(0, 100)]: text },
          })
          for (const request of [
            http("POST", REQUEST, [JSON_TYPE, ["user-agent", text], ["connection", "close"]], body),
            http("POST", REQUEST, [JSON_TYPE, ["origin", text], ["connection", "close"]], "{}"),
            http(
              "POST",
              REQUEST,
              [JSON_TYPE, ["referer", text], ["x-forwarded-for", text], ["connection", "close"]],
              "{}",
            ),
            http("GET", `/${text.replaceAll(" ", "")}`, [["connection", "close"]]),
            http("GET", `/health/live?${text.replaceAll(" ", "")}`, [["connection", "close"]]),
            http(`GET${end}`, "/health/live", [["connection", "close"]]),
          ]) {
            yield* Effect.promise(() => exchange(port, request))
          }
        }
        // none that is refused: lines of refusals are bounded
        yield* rawCall(port, { path: "/openapi.json" })
        yield* Effect.promise(() => eventually("the last is logged", () => log().includes("/openapi.json")))
        const lines = log().trimEnd().split("\n")
        assert.isAbove(lines.length, BREAKS.length)
        for (const line of lines) {
          const entry: Record<string, unknown> = JSON.parse(line)
          const counted = entry.message === "refusals left out" || entry.message === "requests left out"
          assert.deepStrictEqual(
            Object.keys(entry),
            counted ? ["time", "level", "message", "count"] : ENTRY.concat(about(entry)),
            line,
          )
          assert.notStrictEqual(entry.outcome, "forged", line)
          // nothing that a terminal would obey
          assert.notMatch(line, /[\p{Cc}\p{Zl}\p{Zp}]/u)
        }
      }),
  )
})

describe("a header of an answer", { timeout: 60_000 }, () => {
  servedTest(
    "is never made from a caller's input",
    { Security: { AllowedOrigins: ["*"], ConsoleToken: "console-token-0123456789" } },
    ({ port }) =>
      Effect.gen(function* () {
        const INJECTED = /^(x-injected|set-cookie: injected)/im
        for (const end of ["\r\n", "\n", "\r", "%0d%0a", "%0a", "%E5%98%8A%E5%98%8D", "\u560a", "\u0000"]) {
          const text = `a${end}x-injected: yes${end}set-cookie: injected=1`
          const path = text.replaceAll(" ", "")
          const headers: ReadonlyArray<Header> = [
            ["origin", `https://shop.example${text}`],
            ["access-control-request-method", text],
            ["access-control-request-headers", text],
            ["cookie", `voicegate_hub=${text}`],
            ["connection", "close"],
          ]
          for (const request of [
            http("OPTIONS", REQUEST, headers),
            http("POST", "/sessionHub/negotiate", headers),
            http("GET", `/console?${path}`, [["connection", "close"]]),
            http("GET", `/console/?${path}`, [["connection", "close"]]),
            http("GET", `/console${path}`, [["connection", "close"]]),
            http("GET", `/widget.js?${path}`, [
              ["if-none-match", text],
              ["connection", "close"],
            ]),
            http("GET", `/api/session/${path}`, headers),
            http("GET", `http://evil.example${path}/`, headers),
          ]) {
            const answered = yield* Effect.promise(() => exchange(port, request))
            for (const part of answered.split(/(?=HTTP\/1\.1 \d)/)) {
              const [head = ""] = part.split("\r\n\r\n")
              assert.notMatch(head, INJECTED, request.toString("latin1"))
            }
          }
        }
      }),
  )

  servedTest("redirects to this host only", { Security: { ConsoleToken: "console-token-0123456789" } }, ({ port }) =>
    Effect.gen(function* () {
      for (const path of [
        "/console",
        "//console",
        "/console?//evil.example",
        "//evil.example/console",
        "/console?https://evil.example",
        "/console/..//evil.example",
      ]) {
        const { headers } = yield* rawCall(port, { path, headers: { host: "evil.example" } })
        const location = headers.location
        if (location === undefined) continue
        assert.strictEqual(
          new URL(location, "http://gate.example/console").host,
          "gate.example",
          `${path} to ${location}`,
        )
      }
    }),
  )
})

/** Properties that prototype pollution would leave behind. */
const inherited = (): ReadonlyArray<string> => {
  const names: Array<string> = []
  for (const name in {}) names.push(name)
  return names
}

describe("an object's prototype", { timeout: 60_000 }, () => {
  const POLLUTING = [
    '{"__proto__":{"polluted":"yes","regionId":"mars"}}',
    '{"constructor":{"prototype":{"polluted":"yes"}}}',
    '{"dynamicVariables":{"__proto__":"x","constructor":"y","toString":"z","hasOwnProperty":"w"}}',
    '{"metadata":{"__proto__":{"polluted":"yes"}}}',
    '{"audioConfiguration":{"__proto__":{"inputSampleRate":1}}}',
    '[{"__proto__":{"polluted":"yes"}}]',
  ]

  servedTest(
    "is not changed by any body, query, frame or record",
    { VoiceAiPlatform: { MaxConcurrency: 50 }, Security: { ConsoleToken: "console-token-0123456789" } },
    ({ port, world }) =>
      Effect.gen(function* () {
        for (const body of POLLUTING) {
          for (const [path, headers] of [
            [REQUEST, {}],
            ["/api/webhook/session-ended", {}],
            ["/console/api/actions", { authorization: "Bearer console-token-0123456789" }],
          ] as const) {
            const answer = yield* rawCall(
              port,
              { method: "POST", path, headers: { "content-type": "application/json", ...headers } },
              body,
            )
            assert.isBelow(answer.status, 500, `${path} ${body}`)
          }
        }
        for (const query of [
          "__proto__[polluted]=yes",
          "__proto__.polluted=yes",
          "constructor[prototype][polluted]=yes",
          "__proto__=1&campaign=default",
        ]) {
          const answer = yield* rawCall(port, {
            path: `/console/api/view?${query}`,
            headers: { authorization: "Bearer console-token-0123456789" },
          })
          assert.isBelow(answer.status, 500, query)
        }
        assert.deepStrictEqual(inherited(), [])
        assert.deepStrictEqual(
          world.initiated.map(({ regionId }) => regionId).filter((region) => region !== "eu"),
          [],
        )
        // names that are special elsewhere go to the platform as the names that they are
        const named = world.initiated.find(({ dynamicVariables }) => Object.keys(dynamicVariables).length > 0)
        assert.deepStrictEqual(Object.entries(named?.dynamicVariables ?? {}), [
          ["__proto__", "x"],
          ["constructor", "y"],
          ["toString", "z"],
          ["hasOwnProperty", "w"],
        ])
      }),
  )

  it("adds no setting, and changes none", () => {
    const good = {
      VoiceAiPlatform: {
        ApiSecretToken: "k",
        BaseUrl: "https://p.example/",
        BusinessId: "b",
        WebCampaignId: "c",
        DefaultRegionId: "r",
        MaxConcurrency: 1,
      },
      Security: { WebhookApiToken: "webhook-token-0123456789" },
    }
    for (const text of [
      '{"__proto__":{"Security":{"AllowedOrigins":["*"]}}}',
      '{"Security":{"__proto__":{"AllowedOrigins":["*"]}}}',
      '{"constructor":{"prototype":{"AllowedOrigins":["*"]}}}',
      '{"VoiceAiPlatform":{"Campaigns":{"__proto__":{"WebCampaignId":"x"}}}}',
    ]) {
      const hostile: Record<string, unknown> = JSON.parse(text)
      const merged = settingsFrom({ ...good, ...hostile })
      if (Result.isSuccess(merged)) assert.deepStrictEqual(merged.success.tree.Security.AllowedOrigins, [], text)
    }
    const env = { Security____proto____AllowedOrigins__0: "*", Security__constructor__prototype__BlockVpn: "false" }
    const named = resolveSettings(good, variablesOf(env))
    assert.isTrue(Result.isFailure(named))
    assert.deepStrictEqual(inherited(), [])
    // a setting on Object.prototype is not a setting of the gate
    const prototype: object = Object.prototype
    Object.defineProperty(prototype, "ConsoleToken", {
      value: "inherited-token-0123456789",
      enumerable: true,
      configurable: true,
      writable: true,
    })
    try {
      const result = settingsFrom(good)
      assert.deepStrictEqual(Result.isSuccess(result) ? result.success.tree.Security.ConsoleToken : undefined, [])
    } finally {
      Reflect.deleteProperty(prototype, "ConsoleToken")
    }
  })
})
