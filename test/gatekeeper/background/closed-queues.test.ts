import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Logger } from "effect"
import { makeClosedCampaigns } from "../../../src/fifo-queue/closed.ts"
import { ClosedQueues, layer as closedQueuesLayer } from "../../../src/gatekeeper/background/ClosedQueues.ts"
import { StoreUnavailable } from "../../../src/protocol/refusals.ts"

const refused = (refusal: string) => new StoreUnavailable({ message: "refused", cause: "the user lacks it", refusal })
const away = new StoreUnavailable({ message: "away", cause: "no answer" })

describe("a campaign whose rule was refused half-way", () => {
  it.effect.each(["NOPERM", "UNKNOWN", "WRONGTYPE", "OTHER"])(
    "runs no rule until a sweep succeeds after a repair (%s)",
    (kind) =>
      Effect.gen(function* () {
        const closed = makeClosedCampaigns()
        const ran: Array<string> = []
        const step = (name: string) => Effect.sync(() => ran.push(name))
        yield* Effect.flip(closed.unlessClosed("a", Effect.fail(refused(kind))))
        const error = yield* Effect.flip(closed.unlessClosed("a", step("closed")))
        assert.deepStrictEqual([error.refusal, error.unasked], [kind, true])
        // another campaign is served
        yield* closed.unlessClosed("b", step("other"))
        yield* Effect.flip(closed.sweeping("a", step("too early"), Effect.fail(refused(kind))))
        yield* closed.sweeping("a", step("sweep"), Effect.asVoid(step("repair")))
        yield* closed.unlessClosed("a", step("open"))
        yield* closed.sweeping("a", step("sweep"), Effect.asVoid(step("not needed")))
        assert.deepStrictEqual(ran, ["other", "repair", "sweep", "open", "sweep"])
      }),
  )

  it.effect("is not closed by an outage, by what Redis refuses before it writes, or by a key of one caller", () =>
    Effect.gen(function* () {
      const closed = makeClosedCampaigns()
      yield* Effect.flip(closed.unlessClosed("a", Effect.fail(away)))
      yield* Effect.flip(closed.unlessClosed("a", Effect.fail(refused("OOM"))))
      yield* Effect.flip(closed.unlessClosed("a", Effect.fail(refused("WRONGTYPE")), true))
      yield* closed.unlessClosed("a", Effect.void)
      yield* Effect.flip(closed.unlessClosed("a", Effect.fail(refused("NOPERM")), true))
      yield* Effect.flip(closed.unlessClosed("a", Effect.void))
    }),
  )

  it.effect("is logged when it is closed, when the reason changes, and when it is open again", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => void lines.push(String(message)))
      const queues = yield* Effect.provide(ClosedQueues, closedQueuesLayer)
      const swept = (exit: Exit.Exit<void, StoreUnavailable>) =>
        Effect.provide(queues.swept("main", exit), Logger.layer([logger]))
      yield* swept(Exit.void)
      yield* swept(Exit.fail(away))
      assert.deepStrictEqual([lines.length, queues.reasons().size], [0, 0])
      yield* swept(Exit.fail(refused("NOPERM")))
      yield* swept(Exit.fail(refused("NOPERM")))
      yield* swept(Exit.fail(away))
      assert.deepStrictEqual([...queues.reasons()], [["main", "the user lacks it"]])
      yield* swept(Exit.void)
      assert.strictEqual(lines.length, 2)
      assert.match(lines[0] ?? "", /Campaign main is closed: .*the user lacks it/)
      assert.match(lines[1] ?? "", /Campaign main is open again/)
      assert.strictEqual(queues.reasons().size, 0)
    }),
  )
})
