/**
 * A gate's path to the store: every call has latency in both directions, keeps its order as on one connection, and
 * suffers the faults that a history asks for. A dead gate receives nothing more; what it had sent is still executed.
 */

import { Effect, type Scope } from "effect"
import { ANNOUNCE_CHANNEL } from "../../src/gatekeeper/peers/rules/membership.ts"
import { StoreUnavailable, stackless } from "../../src/protocol/refusals.ts"
import { INSTANCE_CHANNEL } from "../../src/protocol/signals.ts"
import { MAX_DRIFT_MILLIS, MEASURE_EVERY_MILLIS, makeServerClock } from "../../src/store/redis/server-clock.ts"
import type { Ask, Rule, Store } from "../../src/store/Store.ts"
import { crossing } from "../harness/one-slot.ts"
import { type Answer, type AnyAsk, type AnyRule, messageText } from "./did.ts"
import type { Gate } from "./gate.ts"
import type { Action } from "./plan.ts"
import type { CampaignName } from "./settings.ts"
import type { World } from "./world.ts"

/** The maximum latency of a call, each way (ms). */
export const MOST_LATENCY = 10
/** The timeout of an answer (ms); a late call is then executed. */
const TIMEOUT_MILLIS = 500
const LATE_MILLIS = 900

type Outcome = "done" | "refused" | "unheard" | "late" | "swallowed"

type Mode = Extract<Action, { readonly kind: "store" }>["mode"]

/** Whether no call of the gate is answered meanwhile. */
const stopsEverything = (mode: Mode): boolean => mode !== "mixed" && mode !== "starts"

/** Whether a rule that looks for what is due has found something. */
const hasFound = (name: string, answer: unknown): boolean =>
  name === "queue.findUnpaid"
    ? Object.hasOwn((answer as Answer<"findUnpaid">).result, "tickets")
    : Object.hasOwn(Object(answer), "holds")

const unavailable = (): StoreUnavailable => stackless(() => new StoreUnavailable({ message: "simulated" }))

export const makeStore = Effect.fnUntraced(function* (
  world: World,
  gate: Gate,
): Effect.fn.Return<Store["Service"], never, Scope.Scope> {
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
  const outcomeOfStarts = (key: string, name: string): Outcome => {
    if (name === "queue.start") return world.chance(`${key} outcome`, 2) === 0 ? "refused" : "unheard"
    return name === "queue.reportOutage" ? "unheard" : "done"
  }
  const outcomeOf = (key: string, name: string): Outcome => {
    const fault = faultNow()
    if (fault === undefined) return "done"
    if (fault.mode === "starts") return outcomeOfStarts(key, name)
    if (fault.mode !== "mixed") return fault.mode
    return (["done", "refused", "unheard", "late"] as const)[world.chance(`${key} outcome`, 4)] ?? "done"
  }

  const call = <A>(
    name: string,
    campaign: CampaignName | undefined,
    { call }: AnyAsk,
    carryOut: (done: (answer: A) => void) => void,
  ): Effect.Effect<A, StoreUnavailable> =>
    Effect.callback<A, StoreUnavailable>((resume) => {
      const key = `${gate.name} ${world.millis()} ${name} ${calls++ % 4}`
      if (gate.dies("before", name)) return
      const outcome = outcomeOf(key, name)
      const there = Math.max(arrived - kernel.now, 1 + world.chance(`${key} there`, MOST_LATENCY))
      const back = 1 + world.chance(`${key} back`, MOST_LATENCY)
      const sentAt = kernel.now
      const fail = (millis: number): void => {
        gate.trouble(kernel.now + millis)
        kernel.after(
          millis,
          () => {
            // nothing else can have come through meanwhile if the outage still lasts and affects everything
            const fault = faultNow()
            const all = fault !== undefined && stopsEverything(fault.mode)
            if (campaign !== undefined) gate.hindered(all ? sentAt : kernel.now, kernel.now, campaign)
            resume(Effect.fail(unavailable()))
          },
          gate.process,
        )
      }
      // a call without an answer is given back, and may have been executed; if it arrives after it was given back, it
      // stays
      if (outcome !== "done" && ["queue.admit", "queue.bind", "queue.fail"].includes(name) && "id" in call)
        world.watch.ledger.mayLose(String(call.id))
      if ((outcome === "late" || outcome === "swallowed") && name === "limits.take" && "token" in call)
        world.watch.ledger.mayLose(String(call.token))
      if (outcome !== "done") world.note(`${gate.name} ${name} will be ${outcome}`)
      if (outcome === "refused") return fail(there + back)
      if (outcome === "late" || outcome === "swallowed") {
        const { at, millis } = faultNow() ?? { at: 0, millis: 0 }
        const whole = at + millis - world.millis() + there
        kernel.after(outcome === "late" ? LATE_MILLIS : Math.max(LATE_MILLIS, whole), () => carryOut(() => {}))
        return fail(TIMEOUT_MILLIS)
      }
      arrived = kernel.now + there
      kernel.after(there, () =>
        carryOut((answer) => {
          if (hasFound(name, answer) && gate.dies("after", name, true)) return
          if (outcome === "done") kernel.after(back, () => resume(Effect.succeed(answer)), gate.process)
        }),
      )
      if (outcome === "unheard") fail(TIMEOUT_MILLIS)
      if (!gate.dies("after", name)) gate.askedStore(name)
    })

  const deliver = (message: string, onMessage: (message: string) => void): void => {
    const bus = world.bus !== undefined && world.bus.until > kernel.now ? world.bus.mode : undefined
    const what = messageText(message)
    const key = `${gate.name} bus ${what}`
    if (bus === "lose" && world.chance(key, 4) > 0) {
      world.note(`${gate.name} bus loses ${what}`)
      return
    }
    const times = bus === "repeat" ? 3 : 1
    for (let n = 0; n < times; n++) {
      const slow = bus === undefined ? MOST_LATENCY : 1_500
      kernel.after(1 + world.chance(`${key} ${n}`, slow), () => onMessage(message), gate.process)
    }
  }

  let asked = 0
  /** the server's time; separate from execution, so that no history depends on when it was read */
  const askTime: Effect.Effect<number, StoreUnavailable> = Effect.callback((resume) => {
    const key = `${gate.name} time ${asked++}`
    const there = 1 + world.chance(`${key} there`, MOST_LATENCY)
    const back = 1 + world.chance(`${key} back`, MOST_LATENCY)
    const fault = faultNow()
    if (fault !== undefined && stopsEverything(fault.mode)) {
      gate.unawareUntil = Math.max(gate.unawareUntil, kernel.now + TIMEOUT_MILLIS + MEASURE_EVERY_MILLIS)
      const millis = fault.mode === "refused" ? there + back : TIMEOUT_MILLIS
      kernel.after(millis, () => resume(Effect.fail(unavailable())), gate.process)
      return
    }
    kernel.after(there, () => {
      const time = kernel.now + skew
      kernel.after(back, () => resume(Effect.succeed(time)), gate.process)
    })
  })
  const time = makeServerClock(gate.process.clock, askTime)
  yield* Effect.ignore(time.measure)
  if (!world.keepsTime) {
    yield* Effect.forkScoped(Effect.forever(Effect.delay(Effect.ignore(time.measure), MEASURE_EVERY_MILLIS)))
  }
  const { clock } = gate.process
  const first = (yield* time.now) - Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

  /** The time that a step uses must be right, except while nothing can tell the gate. */
  const believed = (now: number): void => {
    const behind = kernel.now + skew - now
    if (Math.abs(behind) > MOST_LATENCY + MAX_DRIFT_MILLIS && kernel.now > gate.unawareUntil + 3 * MOST_LATENCY) {
      world.fail(`${gate.name} takes a step at a time that is ${behind} ms ago`)
    }
  }

  const onCluster = plan.control.budgets?.oneStep !== true
  return {
    run: <C extends object, K extends object, A>(asked: Rule<C, K, A>, ask: Ask<C, K>) =>
      Effect.suspend(() => {
        // batches stay together: a rule gets the input that was sent here, and its answer is returned here
        const rule = asked as unknown as AnyRule
        const campaign = world.watch.of(rule.name, ask.keys)?.name
        const wrong = onCluster ? crossing(rule.name, ask) : undefined
        if (wrong !== undefined) world.fail(wrong)
        if (!time.isMeasured()) {
          gate.trouble(kernel.now)
          if (campaign !== undefined) gate.hindered(kernel.now, kernel.now, campaign)
          return Effect.fail(unavailable())
        }
        if (campaign !== undefined) believed(ask.now)
        return call<A>(rule.name, campaign, ask, (done) =>
          world.carryOut(gate, rule, ask, (answer) => done(answer as A)),
        )
      }),
    // as on a cluster: limits and queue are two steps, and more can happen in between
    crossSlot: false,
    get: () => Effect.die("the simulation caches nothing"),
    set: () => Effect.die("the simulation caches nothing"),
    publish: () => Effect.die("only rules publish"),
    subscribe: (channel, onMessage): Effect.Effect<void, never, Scope.Scope> =>
      Effect.sync(() => {
        // all gates are on one database, which is all that announcements concern
        if (channel === ANNOUNCE_CHANNEL) return
        world.base.listen(channel, (message) => {
          // refunds are published too, and concern no ticket
          if (channel.startsWith(INSTANCE_CHANNEL)) world.watch.published(message)
          deliver(message, onMessage)
        })
      }),
    ping: Effect.void,
    now: world.keepsTime ? Effect.sync(() => first + Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)) : time.now,
  }
})
