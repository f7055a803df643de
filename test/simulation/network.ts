/**
 * A gate's way to the store: every call takes time to get there and back, in order as on one connection, and what a history
 * asks for goes wrong on it. A dead gate hears nothing more; what it had sent is carried out all the same.
 */
import { Effect, type Scope } from "effect"
import { INSTANCE_CHANNEL } from "../../src/FifoQueue.ts"
import { StoreUnavailable, stackless } from "../../src/Session.ts"
import type { Script, Store } from "../../src/Store.ts"
import type { Gate } from "./gate.ts"
import type { World } from "./world.ts"

/** The longest way of a call, there or back (ms). */
export const MOST_LATENCY = 10
/** After so long an answer is no longer waited for (ms), and then a late call is carried out. */
const TIMEOUT_MILLIS = 500
const LATE_MILLIS = 900

type Outcome = "done" | "refused" | "unheard" | "late"

const unavailable = (): StoreUnavailable => stackless(() => new StoreUnavailable({ message: "simulated" }))

export const makeStore = (world: World, gate: Gate): Store["Service"] => {
  const { kernel, plan } = world
  const skew = world.chance(`skew ${gate.index}`, 2 * plan.skewMillis + 1) - plan.skewMillis
  let calls = 0
  let arrived = 0

  const faultNow = () => {
    const fault = plan.actions.find(
      (action) =>
        action.kind === "store" &&
        (action.gate === -1 || action.gate === gate.index) &&
        action.at <= world.millis() &&
        world.millis() < action.at + action.millis,
    )
    return fault?.kind === "store" ? fault : undefined
  }
  const outcomeOf = (key: string): Outcome => {
    const fault = faultNow()
    if (fault === undefined) return "done"
    if (fault.mode !== "mixed") return fault.mode
    return (["done", "refused", "unheard", "late"] as const)[world.chance(`${key} outcome`, 4)] ?? "done"
  }

  const call = <A>(
    { name }: Script,
    ofQueue: boolean,
    args: ReadonlyArray<string>,
    carryOut: (done: (reply: A) => void) => void,
  ): Effect.Effect<A, StoreUnavailable> =>
    Effect.callback<A, StoreUnavailable>((resume) => {
      const key = `${gate.name} ${world.millis()} ${name} ${calls++ % 4}`
      if (gate.dies("before")) return
      const outcome = outcomeOf(key)
      const there = Math.max(arrived - kernel.now, 1 + world.chance(`${key} there`, MOST_LATENCY))
      const back = 1 + world.chance(`${key} back`, MOST_LATENCY)
      const sentAt = kernel.now
      const fail = (millis: number): void => {
        gate.trouble(kernel.now + millis)
        kernel.after(
          millis,
          () => {
            // nothing else can have come through meanwhile where the outage still lasts and takes all
            const fault = faultNow()
            const all = fault !== undefined && fault.mode !== "mixed"
            if (ofQueue) gate.hindered(all ? sentAt : kernel.now, kernel.now)
            resume(Effect.fail(unavailable()))
          },
          gate.process,
        )
      }
      // what was not heard of is given back, and may be there; what comes after it was given back stays
      if (outcome !== "done" && ["queue.admit", "queue.bind", "queue.release"].includes(name))
        world.watch.ledger.mayLose(args[5] ?? "")
      if (outcome === "late" && name === "limit.take") world.watch.ledger.mayLose(args[1] ?? "")
      if (outcome !== "done") world.note(`${gate.name} ${name} will be ${outcome}`)
      if (outcome === "refused") return fail(there + back)
      if (outcome === "late") {
        kernel.after(LATE_MILLIS, () => carryOut(() => {}))
        return fail(TIMEOUT_MILLIS)
      }
      arrived = kernel.now + there
      kernel.after(there, () =>
        carryOut((reply) => {
          if (outcome === "done") kernel.after(back, () => resume(Effect.succeed(reply)), gate.process)
        }),
      )
      if (outcome === "unheard") fail(TIMEOUT_MILLIS)
      gate.dies("after")
    })

  const deliver = (message: string, onMessage: (message: string) => void): void => {
    const bus = world.bus !== undefined && world.bus.until > kernel.now ? world.bus.mode : undefined
    const key = `${gate.name} bus ${message}`
    if (bus === "lose" && world.chance(key, 4) > 0) {
      world.note(`${gate.name} bus loses ${message}`)
      return
    }
    const times = bus === "repeat" ? 3 : 1
    for (let n = 0; n < times; n++) {
      const slow = bus === undefined ? MOST_LATENCY : 1_500
      kernel.after(1 + world.chance(`${key} ${n}`, slow), () => onMessage(message), gate.process)
    }
  }

  return {
    run: (script, keys, args) => {
      const sent = args.map(String)
      return call(script, world.watch.isWatched(script.name, keys), sent, (done) =>
        world.carryOut(gate, script, keys, sent, done),
      )
    },
    // as on a cluster: limits and queue are two steps, between which more can happen
    spans: false,
    get: () => Effect.die("the simulation caches nothing"),
    set: () => Effect.die("the simulation caches nothing"),
    publish: () => Effect.die("only scripts publish"),
    subscribe: (channel, onMessage): Effect.Effect<void, never, Scope.Scope> =>
      Effect.sync(() =>
        world.base.listen(channel, (message) => {
          // refunds are told too, and are no ticket's affair
          if (channel.startsWith(INSTANCE_CHANNEL)) world.watch.published(message)
          deliver(message, onMessage)
        }),
      ),
    ping: Effect.void,
    now: Effect.sync(() => kernel.now + skew),
  }
}
