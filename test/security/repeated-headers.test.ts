/** A header that has one meaning is taken once: of two, every reader would choose its own. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import * as Platform from "../../src/platform/Platform.ts"
import { servedTest } from "../support/gate-server.ts"
import { exchange, statusesOf } from "./raw.ts"

const bytes = (method: string, path: string, headers: ReadonlyArray<string>, body = ""): string =>
  [
    `${method} ${path} HTTP/1.1`,
    "connection: close",
    ...headers,
    ...(body === "" ? [] : [`content-length: ${body.length}`]),
    "",
    body,
  ].join("\r\n")

const HOST = "host: localhost"
const JSON_TYPE = "content-type: application/json"
const UPGRADE = [
  "connection: Upgrade",
  "upgrade: websocket",
  "sec-websocket-version: 13",
  "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
]

/** The same header twice, in every combination that a reader could take for one. */
const twice = (header: string): ReadonlyArray<ReadonlyArray<string>> => {
  const [name = "", value = ""] = header.split(": ")
  return [
    [header, header],
    [header, `${name.toUpperCase()}: ${value}`],
    [header, "x-between: 1", `${name}: other`],
  ]
}

const refuses = (
  port: number,
  routes: ReadonlyArray<readonly [method: string, path: string, body?: string]>,
): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const [method, path, body] of routes) {
      for (const header of [HOST, JSON_TYPE, "origin: http://localhost", "authorization: Bearer x"]) {
        const others = [HOST, JSON_TYPE].filter((each) => each !== header)
        for (const both of twice(header)) {
          const answered = yield* Effect.promise(() => exchange(port, bytes(method, path, [...others, ...both], body)))
          assert.deepStrictEqual(statusesOf(answered), [400], `${method} ${path} ${both.join(", ")}: ${answered}`)
          assert.include(answered.toLowerCase(), header.split(":")[0] ?? "")
        }
      }
    }
  })

describe("a header that is sent twice", { timeout: 60_000 }, () => {
  servedTest("is refused on every route of the gate, and takes no place", {}, ({ port, world }) =>
    Effect.gen(function* () {
      yield* refuses(port, [
        ["POST", "/api/session/request", "{}"],
        ["GET", "/api/session/abc"],
        ["POST", "/api/session/abc/start", "{}"],
        ["GET", "/api/session/abc/events"],
        ["POST", "/api/webhook/session-ended", "{}"],
        ["POST", "/sessionHub/negotiate", "{}"],
        ["GET", "/health/live"],
        ["GET", "/openapi.json"],
      ])
      assert.lengthOf(world.initiated, 0)
      const upgrade = bytes("GET", "/sessionHub", [HOST, HOST, ...UPGRADE])
      assert.deepStrictEqual(statusesOf(yield* Effect.promise(() => exchange(port, upgrade))), [400])
    }),
  )

  it.live("is refused on every route of the platform", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(Platform.layer())
      const port = Number(new URL(Context.get(context, Platform.Platform).origin).port)
      yield* refuses(port, [
        ["GET", "/api/v1/business"],
        ["POST", "/api/v1/business/b1/websession/initiate", "{}"],
        ["POST", "/dashboard/api/session", "{}"],
        ["GET", "/"],
        ["GET", "/openapi.json"],
      ])
      const upgrade = bytes("GET", "/session/x?token=y", [HOST, HOST, ...UPGRADE])
      assert.deepStrictEqual(statusesOf(yield* Effect.promise(() => exchange(port, upgrade))), [400])
    }).pipe(Effect.scoped),
  )
})
