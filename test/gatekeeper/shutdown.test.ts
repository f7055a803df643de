/** A gate that is told to stop: starts in progress finish, and others begin at another gate. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import { CLOSE_MILLIS, RESERVED_MILLIS } from "../../src/gatekeeper/Shutdown.ts"
import { noFacts } from "../../src/ip-intel/facts.ts"
import { StoreUnavailable } from "../../src/protocol/refusals.ts"
import * as memory from "../../src/store/memory/layer.ts"
import { Store } from "../../src/store/Store.ts"
import {
  ask,
  caller,
  figures,
  gateLayer,
  gateTest,
  hangUp,
  makeWorld,
  remaining,
  session,
  start,
  stateOf,
  type World,
} from "../support/gate.ts"
import { calledTicket, delayStarts, inBackground } from "./ticket-support.ts"

const close = Gatekeeper.use((gate) => gate.close)
/** How long the gate waits for the platform. */
const IN_TIME = CLOSE_MILLIS - RESERVED_MILLIS

/** A called ticket, with a slow platform. */
const called = (world: World) =>
  Effect.gen(function* () {
    const ticket = yield* calledTicket(caller(2), caller(1))
    const answer = yield* delayStarts(world)
    return { ticket, answer }
  })

describe("a gate that is told to stop", () => {
  gateTest("starts nothing more: new requests and starts are told to retry, and lose nothing", {}, (world) =>
    Effect.gen(function* () {
      const { answer, ticket } = yield* called(world)
      yield* answer
      yield* close
      expect(yield* ask(caller(3))).toMatchObject({ _tag: "Draining", retryAfterSeconds: 1 })
      expect(yield* remaining(caller(3))).toBe(20)
      expect(yield* start(ticket)).toMatchObject({ _tag: "Draining", retryAfterSeconds: 1 })
      expect(yield* stateOf(ticket)).toBe("called")
      expect(yield* ask(caller(2), { uniqueRequestId: ticket })).toMatchObject({ _tag: "Queued", called: true })
      expect(world.initiated).toHaveLength(1)
    }),
  )

  gateTest("waits for a start in progress, and no longer", {}, (world) =>
    Effect.gen(function* () {
      const { answer, ticket } = yield* called(world)
      const starting = yield* inBackground(start(ticket))
      const closing = yield* Effect.forkChild(close)
      yield* TestClock.adjust(IN_TIME - 1)
      // requests that take no slot do not end the waiting
      expect(yield* ask(caller(3), { regionId: 7 })).toMatchObject({ _tag: "InvalidRequest" })
      expect(yield* ask(caller(3))).toMatchObject({ _tag: "Draining" })
      expect(yield* ask(caller(2), { uniqueRequestId: ticket })).toMatchObject({ _tag: "Queued" })
      expect([starting.pollUnsafe(), closing.pollUnsafe()]).toEqual([undefined, undefined])
      yield* answer
      expect(yield* Fiber.join(starting)).toMatchObject({ _tag: "Started", webSocketUrl: session(2).webSocketUrl })
      yield* Fiber.join(closing)
      expect(yield* stateOf(ticket)).toBe("live")
    }),
  )

  gateTest("finishes an earlier request, even if its address lookup is slow", {}, (world) =>
    Effect.gen(function* () {
      const found = yield* Deferred.make<void>()
      world.lookup = () => Effect.as(Deferred.await(found), noFacts)
      const asked = yield* inBackground(ask(caller(1)))
      const closing = yield* Effect.forkChild(close)
      yield* TestClock.adjust("1 second")
      expect(closing.pollUnsafe()).toBeUndefined()
      yield* Deferred.succeed(found, undefined)
      expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "Started" })
      yield* Fiber.join(closing)
    }),
  )

  for (const [what, interruptible] of [
    ["hangs", true],
    ["hangs and cannot be interrupted", false],
  ] as const) {
    gateTest(`gives up a platform that ${what}, and leaves no start behind`, {}, (world) =>
      Effect.gen(function* () {
        const { ticket } = yield* called(world)
        world.initiate = () => (interruptible ? Effect.never : Effect.uninterruptible(Effect.never))
        const starting = yield* inBackground(start(ticket))
        const closing = yield* Effect.forkChild(close)
        yield* TestClock.adjust(IN_TIME - 1)
        expect(yield* stateOf(ticket)).toBe("starting")
        yield* TestClock.adjust(1)
        expect(yield* Fiber.join(starting)).not.toMatchObject({ _tag: "Started" })
        yield* Fiber.join(closing)
        expect(yield* stateOf(ticket)).not.toBe("starting")
      }),
    )
  }

  gateTest("starts nothing at the platform after its deadline", {}, (world) =>
    Effect.gen(function* () {
      const found = yield* Deferred.make<void>()
      world.lookup = () => Effect.as(Deferred.await(found), noFacts)
      const asked = yield* inBackground(ask(caller(1)))
      yield* Effect.forkChild(close)
      yield* TestClock.adjust(IN_TIME)
      yield* Deferred.succeed(found, undefined)
      expect(yield* Fiber.join(asked)).not.toMatchObject({ _tag: "Started" })
      expect(world.initiated).toEqual([])
      expect(yield* figures()).toMatchObject({ live: 0 })
    }),
  )
})

describe("the end of a gate's scope", () => {
  const built = (world: World, store: Layer.Layer<Store>) =>
    Effect.gen(function* () {
      const [kept, scope] = [yield* Scope.make(), yield* Scope.make()]
      yield* Effect.addFinalizer(() => Scope.close(kept, Exit.void))
      // the store outlives the gate, as Redis does
      const shared = yield* Layer.buildWithScope(store, kept)
      const layer = (of: World) => gateLayer(of, {}, { store: Layer.succeedContext(shared) })
      const gate = yield* Layer.buildWithScope(layer(world), scope)
      const next = yield* Layer.buildWithScope(layer(makeWorld()), kept)
      return { gate, next, close: Scope.close(scope, Exit.void) }
    })

  it.effect("finishes starts in progress, and another gate sees their sessions", () =>
    Effect.gen(function* () {
      const world = makeWorld()
      const { close, gate, next } = yield* built(world, memory.layer)
      const answer = yield* delayStarts(world)
      const asked = yield* inBackground(Effect.provideContext(ask(caller(1)), gate))
      const closing = yield* Effect.forkChild(close)
      yield* TestClock.adjust("2 seconds")
      expect(closing.pollUnsafe()).toBeUndefined()
      yield* answer
      const started = yield* Fiber.join(asked)
      yield* Fiber.join(closing)
      const ticket = started._tag === "Started" ? started.uniqueRequestId : ""
      expect(yield* Effect.provideContext(stateOf(ticket), next)).toBe("live")
      expect(yield* Effect.provideContext(hangUp("web-1"), next)).toBe(true)
    }).pipe(Effect.scoped),
  )

  /** A memory store with overridden answers for some rules. */
  const storeThat = (instead: (rule: string) => Effect.Effect<never, StoreUnavailable> | undefined) =>
    Layer.effect(
      Store,
      Effect.map(Store, (inner) =>
        Store.of({ ...inner, run: (rule, ask) => instead(rule.name) ?? inner.run(rule, ask) }),
      ),
    ).pipe(Layer.provide(memory.layer))

  it.effect("does not wait for an unavailable store to bind a session", () =>
    Effect.gen(function* () {
      const world = makeWorld()
      let away = false
      const store = storeThat(() => (away ? Effect.fail(new StoreUnavailable({ message: "away" })) : undefined))
      const { close, gate } = yield* built(world, store)
      const answer = yield* delayStarts(world)
      const asked = yield* inBackground(Effect.provideContext(ask(caller(1)), gate))
      const closing = yield* Effect.forkChild(close)
      yield* TestClock.adjust(IN_TIME - 100)
      away = true
      yield* answer
      // it is tried again, but not beyond
      yield* TestClock.adjust(99)
      expect(asked.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(RESERVED_MILLIS / 2)
      expect(yield* Fiber.join(asked)).toMatchObject({ _tag: "StoreUnavailable" })
      yield* Fiber.join(closing)
    }).pipe(Effect.scoped),
  )

  it.effect("completes in time although the store never answers, once for all callers of close", () =>
    Effect.gen(function* () {
      const world = makeWorld()
      world.initiate = () => Effect.never
      // the rule that reports a failed start
      const store = storeThat((script) => (/^queue\.(release|fail)$/.test(script) ? Effect.never : undefined))
      const { close, gate } = yield* built(world, store)
      yield* Effect.forkDetach(Effect.provideContext(ask(caller(1)), gate))
      yield* Effect.yieldNow
      const stop = Effect.provideContext(
        Gatekeeper.use((each) => each.close),
        gate,
      )
      const all = yield* Effect.forkChild(Effect.all([stop, stop, close], { concurrency: "unbounded" }))
      yield* TestClock.adjust(CLOSE_MILLIS - 1)
      expect(all.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      yield* Fiber.join(all)
      yield* stop
    }).pipe(Effect.scoped),
  )
})
