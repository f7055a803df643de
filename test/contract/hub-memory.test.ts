/** What the hub stores beyond a connection: tokens that are used once, and the tickets of one browser at one origin. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { HubMemory, layer } from "../../src/http/signalr/HubMemory.ts"
import { onEveryStore } from "../harness/stores.ts"

const makeHubMemory = Effect.provide(HubMemory, layer)

const VISITOR = "AAAAAAAAAAAAAAAAAAAAAA"
const SHOP = "https://shop.example"

describe("a hub's memory", () => {
  onEveryStore((store) => {
    it.effect("gives a token to one connection, and returns the browser it was issued to", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* makeHubMemory, yield* makeHubMemory]
        yield* one.negotiated("token-1", VISITOR)
        assert.deepStrictEqual(yield* other.claim("token-1"), { state: "ok", browser: VISITOR })
        assert.deepStrictEqual(yield* one.claim("token-1"), { state: "used", browser: undefined })
        assert.deepStrictEqual(yield* one.claim("token-2"), { state: "unknown", browser: undefined })
      }).pipe(Effect.provide(store)),
    )

    it.effect("accepts a token of an instance that issued it to no browser", () =>
      Effect.gen(function* () {
        const hub = yield* makeHubMemory
        yield* hub.negotiated("token-3", "fresh")
        assert.deepStrictEqual(yield* hub.claim("token-3"), { state: "ok", browser: undefined })
      }).pipe(Effect.provide(store)),
    )

    it.effect("returns a browser's tickets, newest first, only to the origin that registered them", () =>
      Effect.gen(function* () {
        const [one, other] = [yield* makeHubMemory, yield* makeHubMemory]
        for (let n = 1; n <= 12; n++) {
          yield* one.remember({ id: VISITOR, origin: SHOP }, `ticket-${n}`)
          yield* TestClock.adjust(1_000)
        }
        const tickets = yield* other.recall({ id: VISITOR, origin: "https://SHOP.example" })
        assert.deepStrictEqual(
          tickets,
          Array.from({ length: 10 }, (_, n) => `ticket-${12 - n}`),
        )
        assert.deepStrictEqual(yield* other.recall({ id: VISITOR, origin: "https://other.example" }), [])
        assert.deepStrictEqual(yield* other.recall({ id: VISITOR, origin: "" }), [])
      }).pipe(Effect.provide(store)),
    )
  })
})
