/** The repeat of a session-ended webhook that was answered 503 although the store had carried it out. */
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { sign } from "../../../src/lib/standard-webhooks.ts"
import { StoreUnavailable } from "../../../src/protocol/refusals.ts"
import * as memory from "../../../src/store/memory/layer.ts"
import { Store } from "../../../src/store/Store.ts"
import { eventually } from "../../harness/process.ts"
import { call, post, serveGate } from "../../support/gate-server.ts"
import { REQUEST, token, WEBHOOK } from "../support.ts"

const SECRET = `whsec_${Buffer.from("a secret of twenty-four bytes").toString("base64")}`
const settings = { Security: { WebhookApiToken: token["x-api-token"], WebhookSigningSecret: SECRET } }

/** One gate's way to the store. */
interface Way {
  /** the answers to ends are lost */
  losesEnds: boolean
  /** ends whose answers came */
  heard: number
}

const wayTo = (store: Store["Service"]): { readonly way: Way; readonly layer: Layer.Layer<Store> } => {
  const way: Way = { losesEnds: false, heard: 0 }
  const layer = Layer.succeed(Store, {
    ...store,
    run: (rule, asked) => {
      if (rule.name !== "queue.end") return store.run(rule, asked)
      return Effect.flatMap(store.run(rule, asked), (answer) =>
        Effect.suspend(() => {
          if (way.losesEnds) return Effect.fail(new StoreUnavailable({ message: "The answer is lost." }))
          way.heard++
          return Effect.succeed(answer)
        }),
      )
    },
  })
  return { way, layer }
}

/** Two gates of one store, with a session that both of its ids name. */
const twoGates = Effect.gen(function* () {
  const store = Context.get(yield* Layer.build(memory.layer), Store)
  const [a, b] = [wayTo(store), wayTo(store)]
  const { served: first } = yield* serveGate(settings, {}, { store: a.layer })
  const { served: second } = yield* serveGate(settings, {}, { store: b.layer })
  expect((yield* post(first.url + REQUEST)).status).toBe(200)
  return { first, second, way: a.way }
})

const byToken = (id = "conversation-1") => ({ body: JSON.stringify({ SessionId: id }), headers: token })
const bySignature = (id = "conversation-1") => {
  const body = JSON.stringify({ SessionId: id })
  const seconds = String(Math.floor(Date.now() / 1000))
  const signature = sign(SECRET, "msg_1", seconds, body)
  return {
    body,
    headers: { "webhook-id": "msg_1", "webhook-timestamp": seconds, "webhook-signature": signature },
  }
}

const send = (url: string, webhook: { readonly body: string; readonly headers: Readonly<Record<string, string>> }) =>
  Effect.map(call(url + WEBHOOK, { method: "POST", ...webhook }), ({ body, status }) => [
    status,
    body.code ?? body.released,
  ])

const LOST = [503, "store_unavailable"]

describe("a webhook that is repeated after a 503", () => {
  for (const [how, webhook] of [
    ["with a token", byToken],
    ["with a signature", bySignature],
  ] as const) {
    it.live(
      `a webhook ${how} that is repeated after a 503 is told once that it freed the slot, if the first one did`,
      () =>
        Effect.gen(function* () {
          const { first, second, way } = yield* twoGates
          way.losesEnds = true
          expect(yield* send(first.url, webhook())).toEqual(LOST)
          expect(yield* send(first.url, webhook())).toEqual(LOST)
          way.losesEnds = false
          expect(yield* send(first.url, webhook())).toEqual([200, true])
          expect(yield* send(first.url, webhook())).toEqual([200, false])
          expect(yield* send(second.url, webhook())).toEqual([200, false])
        }).pipe(Effect.scoped),
    )

    it.live(
      `a webhook ${how} that is repeated after a 503 is told by another gate too that it freed the slot, once the first one has reached the store again`,
      () =>
        Effect.gen(function* () {
          const { first, second, way } = yield* twoGates
          way.losesEnds = true
          expect(yield* send(first.url, webhook())).toEqual(LOST)
          way.losesEnds = false
          yield* Effect.promise(() => eventually("the first gate has repeated the end", () => way.heard === 1))
          expect(yield* send(second.url, webhook())).toEqual([200, true])
          expect(yield* send(second.url, webhook())).toEqual([200, false])
          expect(yield* send(first.url, webhook())).toEqual([200, false])
        }).pipe(Effect.scoped),
    )
  }

  it.live("is told that it freed nothing if another webhook has freed the slot", () =>
    Effect.gen(function* () {
      const { first, second, way } = yield* twoGates
      expect(yield* send(second.url, byToken())).toEqual([200, true])
      way.losesEnds = true
      expect(yield* send(first.url, byToken())).toEqual(LOST)
      way.losesEnds = false
      expect(yield* send(first.url, byToken())).toEqual([200, false])
      expect(yield* send(second.url, byToken())).toEqual([200, false])
    }).pipe(Effect.scoped),
  )

  it.live("is told that it freed the slot, and a webhook that names the session by another id meanwhile is not", () =>
    Effect.gen(function* () {
      const { first, second, way } = yield* twoGates
      way.losesEnds = true
      expect(yield* send(first.url, byToken("conversation-1"))).toEqual(LOST)
      expect(yield* send(second.url, byToken("web-1"))).toEqual([200, false])
      way.losesEnds = false
      expect(yield* send(first.url, byToken("conversation-1"))).toEqual([200, true])
      expect(yield* send(first.url, byToken("web-1"))).toEqual([200, false])
    }).pipe(Effect.scoped),
  )

  it.live("is counted as one webhook that freed a slot", () =>
    Effect.gen(function* () {
      const { first, way } = yield* twoGates
      const released = Effect.map(call(`${first.url}/metrics`), ({ text }) =>
        Number(/^voicegate_webhooks_total\{result="released"\} (\d+)$/m.exec(text)?.[1]),
      )
      const before = yield* released
      way.losesEnds = true
      expect(yield* send(first.url, byToken())).toEqual(LOST)
      way.losesEnds = false
      expect(yield* send(first.url, byToken())).toEqual([200, true])
      expect(yield* send(first.url, byToken())).toEqual([200, false])
      // the text is cached for a second
      yield* Effect.sleep("1 second")
      expect(yield* released).toBe(before + 1)
    }).pipe(Effect.scoped),
  )
})
