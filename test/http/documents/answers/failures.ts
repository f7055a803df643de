/** Answers of a gate that fails: its store is away, it has a fault, its host reads the body first, or has closed it. */
import { mkdtempSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { listen } from "../../../../src/http/server/server.ts"
import { createGate } from "../../../../src/index.ts"
import { newOfferToken } from "../../../../src/platform-api/shared/offer-token.ts"
import { StoreUnavailable } from "../../../../src/protocol/refusals.ts"
import * as memory from "../../../../src/store/memory/layer.ts"
import { Store } from "../../../../src/store/Store.ts"
import { settingsFor, startPlatform } from "../../../embedded/support.ts"
import { rawCall, servedTest } from "../../../support/gate-server.ts"
import { REQUEST, rooms, shop, VENDOR_WEBHOOK, WEBHOOK } from "../../support.ts"
import { codeOf, type OpenApiCheck, ticketOf } from "../openapi-check.ts"
import { budgets, budgetsOf, ENDPOINTS, events, NOBODY, readEvents } from "./endpoints.ts"

/** A store that becomes unavailable, or fails, on demand. */
const failing: { as: Effect.Effect<void, StoreUnavailable> } = { as: Effect.void }
const store = Layer.effect(
  Store,
  Effect.map(Store, (real) => ({
    ...real,
    run: (rule, ask) => Effect.andThen(failing.as, real.run(rule, ask)),
    ping: Effect.andThen(
      Effect.suspend(() => failing.as),
      real.ping,
    ),
  })),
).pipe(Layer.provide(memory.layer))
const away = new StoreUnavailable({ message: "away" })

export const failures = ({ check }: OpenApiCheck): void => {
  for (const [what, as, status, code] of [
    ["a store that is away", Effect.fail(away), 503, "store_unavailable"],
    ["a fault of the gate", Effect.die("a fault"), 500, "internal_error"],
  ] as const) {
    servedTest(
      what,
      { ...shop, VoiceAiPlatform: { ...rooms.VoiceAiPlatform, ...events, ...budgets } },
      ({ port, world }) =>
        Effect.gen(function* () {
          const { ask, hangUp, relay, request, start } = yield* check(port)
          world.webhook = { _tag: "ended", sessions: [["web-1"]] }
          yield* request()
          const ticket = ticketOf(yield* request())
          yield* Effect.acquireRelease(
            Effect.sync(() => {
              failing.as = as
            }),
            () =>
              Effect.sync(() => {
                failing.as = Effect.void
              }),
          )
          const path = `/api/session/${ticket}`
          for (const reply of [yield* request(), yield* ask("GET", `${path}/events`)]) {
            assert.strictEqual(codeOf(reply).join(" "), `${status} ${code}`)
          }
          const left = [yield* ask("DELETE", path), yield* ask("POST", `${path}/leave`)]
          left.push(yield* relay(ticket, newOfferToken(1_800_000_000)))
          left.push(yield* ask("POST", `${path}/silence`, { body: { seconds: 5 } }))
          for (const reply of [yield* ask("GET", path), yield* start(ticket), ...left]) {
            assert.strictEqual(codeOf(reply).join(" "), `${status} ${code}`)
          }
          const { adjust, read } = budgetsOf(ask)
          const change = { by: 1, id: "change-1", reason: "a test" }
          for (const reply of [yield* readEvents(ask), yield* read("team"), yield* adjust("team", change)])
            assert.strictEqual(codeOf(reply).join(" "), `${status} ${code}`)
          yield* ask("GET", "/health/ready")
          yield* ask("POST", VENDOR_WEBHOOK, { body: {} })
          yield* hangUp(1)
        }),
      {},
      { store },
    )
  }

  it.live("the document says all of a gate that is mounted behind a body parser, and then closed", () =>
    Effect.gen(function* () {
      const platform = yield* Effect.acquireRelease(Effect.promise(startPlatform), ({ close }) => Effect.promise(close))
      const settings = settingsFor(platform)
      const retell = { Platform: "retell", MaxConcurrency: 1, Retell: { ApiKey: "key-of-retell", AgentId: "agent" } }
      const VoiceAiPlatform = { ...settings.VoiceAiPlatform, ...budgets, Campaigns: { retell } }
      const gate = yield* Effect.promise(() => createGate({ ...settings, VoiceAiPlatform }, { log: () => {} }))
      const server = yield* Effect.acquireRelease(
        Effect.sync(() =>
          createServer((request, response) => {
            if (request.method !== "POST") return gate.handler(request, response)
            request.resume().on("end", () => gate.handler(request, response))
          }),
        ),
        (running) => Effect.sync(() => running.close().closeAllConnections()),
      )
      const { ask, judge, relay, request } = yield* check(yield* listen(server, "127.0.0.1", 0))
      assert.deepStrictEqual(codeOf(yield* request()), [500, "body_already_read"])
      const signature = { "x-retell-signature": `v=${Date.now()},d=${"0".repeat(64)}` }
      const paths = [WEBHOOK, "/api/webhook/retell"]
      for (const at of paths) yield* ask("POST", at, { body: {}, headers: signature })
      assert.deepStrictEqual(codeOf(yield* relay(NOBODY, "")), [500, "body_already_read"])
      const report = yield* ask("POST", `/api/session/${NOBODY}/silence`, { body: { seconds: 5 } })
      assert.deepStrictEqual(codeOf(report), [500, "body_already_read"])
      const adjusted = yield* budgetsOf(ask).adjust("team", {})
      assert.deepStrictEqual(codeOf(adjusted), [500, "body_already_read"])
      // a server on a socket file knows no addresses
      const socketPath = join(mkdtempSync(join(tmpdir(), "voicegate-")), "gate.sock")
      const local = createServer(gate.handler).listen(socketPath)
      yield* Effect.addFinalizer(() => Effect.sync(() => local.close().closeAllConnections()))
      const headers = { "content-type": "application/json" }
      const unnamed = yield* rawCall(0, { socketPath, method: "POST", path: REQUEST, headers }, "{}")
      assert.deepStrictEqual(codeOf(judge("POST", REQUEST, unnamed)), [400, "no_client_address"])
      yield* Effect.promise(() => gate.close())
      for (const [method, path] of ENDPOINTS) {
        assert.deepStrictEqual(codeOf(yield* ask(method, path)), [503, "gate_closed"])
      }
    }).pipe(Effect.scoped),
  )
}
