/** Two gates of a campaign, `here` and `there`, for tests of the queue. Each has its own path to the store, which can be broken. */

import { randomUUID } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { FifoQueue } from "../../src/fifo-queue/FifoQueue.ts"
import { layer as queueLayer } from "../../src/fifo-queue/layer.ts"
import type { Withdrawals } from "../../src/fifo-queue/step.ts"
import { StoreUnavailable } from "../../src/protocol/refusals.ts"
import { Settings } from "../../src/settings/Settings.ts"
import { Store } from "../../src/store/Store.ts"

export const makeTwoGates = Effect.fnUntraced(function* () {
  const store = yield* Store
  const settings = yield* Settings
  const here = `here-${randomUUID()}`
  const there = `there-${randomUUID()}`
  const broken = new Set<string>()
  const deaf = new Set<string>()
  /** what a broken path still carries to the store */
  let onTheWay: Effect.Effect<unknown, unknown> = Effect.void
  const failed = Effect.fail(new StoreUnavailable({ message: "broken" }))
  const gate = (name: string) => {
    const path = Store.of({
      ...store,
      run: (...asked) =>
        Effect.suspend(() => {
          if (broken.has(name)) {
            onTheWay = store.run(...asked)
            return failed
          }
          return deaf.has(name) ? Effect.andThen(store.run(...asked), failed) : store.run(...asked)
        }),
    })
    const services = Layer.mergeAll(Layer.succeed(Store, path), Layer.succeed(Settings, settings))
    return Effect.map(Layer.build(Layer.provide(Layer.fresh(queueLayer), services)), (built) =>
      Context.get(built, FifoQueue),
    )
  }
  const gates = new Map([
    [here, yield* gate(here)],
    [there, yield* gate(there)],
  ])
  let instance = here
  /** by instance, the tickets that it must withdraw */
  const withdrawing = new Map<string, Array<string>>()
  const withdrawals: Withdrawals = {
    ids: () => withdrawing.get(instance) ?? [],
    done: (ids) => {
      const left = (withdrawing.get(instance) ?? []).filter((id) => !ids.includes(id))
      return Effect.sync(() => void withdrawing.set(instance, left))
    },
  }
  return {
    here,
    there,
    /** runs the following steps on this instance */
    on: (which: string) => {
      instance = which
    },
    instance: () => instance,
    /** the queue of the current instance */
    queue: (): FifoQueue["Service"] => {
      const found = gates.get(instance)
      if (found === undefined) throw new Error(`there is no gate ${instance}`)
      return found
    },
    /** breaks or restores this instance's path to the store */
    setBroken: (which: string, is: boolean) => {
      if (is) broken.add(which)
      else broken.delete(which)
    },
    /** whether this instance gets no answer to what the store carries out */
    setDeaf: (which: string, is: boolean) => {
      if (is) deaf.add(which)
      else deaf.delete(which)
    },
    /** the last step that failed at a broken path, to be carried out late */
    late: Effect.suspend(() => onTheWay),
    withdrawals,
    /** this instance has answered the requests for these with 503 */
    setWithdrawing: (which: string, ...ids: ReadonlyArray<string>) => {
      withdrawing.set(which, [...ids])
    },
    /** what it still must withdraw */
    withdrawing: (which: string) => withdrawing.get(which) ?? [],
  }
})
