/** Sessions that a caller may leave and open again, at two gates on one store: each stay is a meeting, whose length the vendor says. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { Gatekeeper } from "../../../src/gatekeeper/Gatekeeper.ts"
import { BEGIN, begin, caller, makeWorld } from "../../support/gate.ts"
import { makeStore, startGate } from "../../support/gates.ts"

const given = {
  VoiceAiPlatform: { Budgets: [{ Name: "team", Of: "campaign", Unit: "minutes", Per: "day", Cap: 60 }] },
}
/** Until when the credential opens the session again (s after its start). */
const OPENS_SECONDS = 120

interface Rig {
  /** A webhook says at one of the gates that a meeting has begun, or has ended after so many seconds. */
  readonly hears: (gate: 0 | 1, meeting: string, seconds?: number) => Effect.Effect<void>
  readonly passes: (seconds: number) => Effect.Effect<void>
  /** whether somebody is in the session, as the vendor says */
  readonly setRunning: (running: boolean) => void
  /** what the call was charged (s); undefined while it holds time */
  readonly charged: Effect.Effect<number | undefined>
  /** what a reload of the first gate waits for */
  readonly pending: Effect.Effect<number>
}

const rigged = (name: string, body: (rig: Rig) => Effect.Effect<void, unknown, Scope.Scope>): void => {
  it.effect(name, () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(BEGIN)
      const world = makeWorld()
      const store = yield* makeStore
      const gates = [yield* startGate(world, store, given), yield* startGate(world, store, given)] as const
      const { sessionId } = yield* Effect.orDie(gates[0].on(begin(caller(1))))
      const about = { campaigns: ["default"] }
      world.sessionStatus = () => Effect.succeed("over")
      const internals = Gatekeeper.useSync((gate) => gate.internals())
      yield* body({
        hears: (gate, meeting, seconds) =>
          Effect.suspend(() => {
            world.webhook =
              seconds === undefined
                ? { _tag: "began", session: [sessionId], meeting, ...about }
                : {
                    _tag: "ended",
                    sessions: [[sessionId]],
                    notBefore: BEGIN + OPENS_SECONDS * 1_000,
                    used: { seconds },
                    meeting,
                    ...about,
                  }
            const webhook = { headers: {}, rawBody: "{}" }
            return Effect.orDie(
              Effect.asVoid(gates[gate].on(Gatekeeper.use((each) => each.vendorWebhook("daily", webhook)))),
            )
          }),
        passes: (seconds) => TestClock.adjust(`${seconds} seconds`),
        setRunning: (running) => {
          world.sessionStatus = () => Effect.succeed(running ? "running" : "over")
        },
        charged: Effect.gen(function* () {
          const { budgets, campaigns } = yield* gates[1].on(internals)
          const [campaign] = campaigns.all
          if (campaign === undefined) return undefined
          const [balance] = yield* Effect.orDie(budgets.balances(campaign))
          return balance?.held === 0 ? Math.round(balance.settled * 60) : undefined
        }),
        pending: Effect.map(gates[0].on(internals), ({ handover }) => handover.pending()),
      })
    }).pipe(Effect.scoped),
  )
}

describe("a call in a session that can be opened again", () => {
  rigged("is charged what the vendor says of its only meeting, reported twice, by two gates", (rig) =>
    Effect.gen(function* () {
      yield* rig.hears(1, "first")
      yield* rig.passes(50)
      for (const gate of [0, 1, 0] as const) yield* rig.hears(gate, "first", 49)
      assert.isUndefined(yield* rig.charged)
      yield* rig.passes(OPENS_SECONDS)
      assert.strictEqual(yield* rig.charged, 49)
    }),
  )

  for (const other of [0, 1] as const) {
    const where = other === 0 ? "the same gate" : "another gate"
    rigged(`is charged the gate's measure when ${where} hears that a second meeting has ended`, (rig) =>
      Effect.gen(function* () {
        yield* rig.passes(1)
        yield* rig.hears(0, "first", 1)
        yield* rig.passes(117)
        yield* rig.hears(other, "second", 117)
        yield* rig.passes(OPENS_SECONDS)
        assert.isAtLeast((yield* rig.charged) ?? 0, 118)
      }),
    )

    rigged(`is charged the gate's measure when ${where} hears that a second meeting has begun`, (rig) =>
      Effect.gen(function* () {
        yield* rig.passes(1)
        yield* rig.hears(0, "first", 1)
        yield* rig.hears(other, "second")
        yield* rig.passes(OPENS_SECONDS)
        assert.isAtLeast((yield* rig.charged) ?? 0, OPENS_SECONDS - 2)
      }),
    )

    rigged(`is charged the gate's measure when its second meeting ends later, at ${where}`, (rig) =>
      Effect.gen(function* () {
        yield* rig.passes(100)
        yield* rig.hears(0, "first", 100)
        rig.setRunning(true)
        yield* rig.passes(200)
        assert.isUndefined(yield* rig.charged)
        yield* rig.hears(other, "second", 190)
        yield* rig.passes(5)
        assert.isAtLeast((yield* rig.charged) ?? 0, 299)
      }),
    )
  }

  rigged("is waited for by a reload until its session opens no more", (rig) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* rig.pending, 0)
      yield* rig.hears(0, "first", 1)
      assert.strictEqual(yield* rig.pending, 1)
      yield* rig.passes(OPENS_SECONDS + 1)
      assert.strictEqual(yield* rig.pending, 0)
    }),
  )
})
