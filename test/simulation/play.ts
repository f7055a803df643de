/** Runs a history to its end, or to the first violation. */
import { CLOSE_MILLIS } from "../../src/gatekeeper/Shutdown.ts"
import { type Base, memoryBase } from "./base.ts"
import { Caller } from "./callers.ts"
import { AT_PLATFORM_WITHIN_MILLIS } from "./gate.ts"
import { BEGIN, Kernel } from "./kernel.ts"
import { type Action, ARRIVE_AFTER_MILLIS, type Plan } from "./plan.ts"
import { topUp } from "./top-up.ts"
import { type Planted, World } from "./world.ts"

/**
 * A history that is not at rest this long after its troubles never will be (ms): slots are held in doubt for minutes
 * each.
 */
const DRAIN_MILLIS = 60 * 60_000
const LOOK_MILLIS = 500
/** Time between the restarts of two gates whose settings change. */
const ROLLING_MILLIS = 2_500
/** How long such a restart takes. */
const RESTARTED_MILLIS = 400

/** Each gate restarts, one after the other. */
const roll = (world: World): void => {
  for (let index = 0; index < world.plan.gates; index++) {
    world.kernel.after(index * ROLLING_MILLIS, () => world.gates[index]?.kill(RESTARTED_MILLIS))
  }
}

/** With the campaign in their settings or without it. */
const rollCampaign = (world: World, serves: boolean): void => {
  world.note(serves ? "the campaign comes back" : "the campaign is removed")
  world.serves = serves
  roll(world)
}

export interface Played {
  readonly plan: Plan
  /** the first violation; undefined when there was none */
  readonly violation: string | undefined
  /** rules that the store executed, each followed by all checks */
  readonly steps: number
  /** those of them that changed something */
  readonly changes: number
  /** how often each thing was seen, see `Watch.seen` */
  readonly seen: ReadonlyMap<string, number>
  readonly millis: number
  readonly trace: ReadonlyArray<string>
}

export interface Options {
  readonly planted?: Planted | undefined
  readonly traced?: boolean
  readonly base?: (kernel: Kernel) => Base
}

const act = (world: World, action: Action): void => {
  switch (action.kind) {
    case "arrive": {
      const caller = new Caller(world, action)
      world.callers.push(caller)
      caller.request()
      return
    }
    case "crash": {
      const gate = world.gates[action.gate]
      if (action.when === "now") gate?.kill(action.downMillis)
      else gate?.doom(action.when, action.downMillis, action.rule)
      return
    }
    case "stop": {
      const gate = world.gates[action.gate]
      if (action.when === "now") gate?.stop(action.downMillis)
      else gate?.stopAtPlatform(action.downMillis)
      return
    }
    case "freeze": {
      const gate = world.gates[action.gate]
      if (action.when === "now") gate?.freeze(action)
      else if (action.when === "platform") gate?.freezeAtPlatform(action)
      else gate?.freezeAtRule(action.when, action)
      return
    }
    case "bus":
      world.bus = { until: world.kernel.now + action.millis, mode: action.mode }
      world.note(`the bus will ${action.mode} for ${action.millis} ms`)
      return
    case "slots":
      world.slots = action.slots
      world.note(`the platform has ${action.slots} slots`)
      return
    case "remove":
      rollCampaign(world, false)
      world.kernel.after(action.millis, () => rollCampaign(world, true))
      return
    case "hours":
      world.note("the campaign gets its hours")
      world.hasHours = true
      roll(world)
      return
    case "topUp":
      topUp(world, action)
      return
    case "store":
      world.note(`the store is ${action.mode} for ${action.millis} ms to gate ${action.gate}`)
      return
  }
}

/** When the last consequence of an action is over, including the gates' own retries. */
const endOf = (action: Action): number => {
  switch (action.kind) {
    case "freeze":
      return action.at + action.millis + (action.when === "platform" ? AT_PLATFORM_WITHIN_MILLIS : 0)
    case "stop":
      return action.at + CLOSE_MILLIS + (action.when === "platform" ? AT_PLATFORM_WITHIN_MILLIS : 0)
    case "bus":
      return action.at + action.millis
    case "remove":
      return action.at + action.millis + 4 * ROLLING_MILLIS
    case "hours":
      return action.at + 4 * ROLLING_MILLIS
    case "store":
      // owed settlements are retried at growing intervals
      return action.at + 2 * action.millis + 2_000
    default:
      return action.at
  }
}

const begin = (plan: Plan, { base = memoryBase, planted, traced = false }: Options): World => {
  const kernel = new Kernel()
  const world = new World(kernel, plan, base(kernel), planted, traced)
  for (let index = 0; index < plan.gates; index++) kernel.after(index * 137, () => world.startGate(index))
  for (const action of plan.actions) kernel.after(action.at + ARRIVE_AFTER_MILLIS, () => act(world, action))
  const calm = BEGIN + 1_000 + Math.max(plan.millis, ...plan.actions.map(endOf))
  const look = (): void => {
    world.watch.timePassed()
    const over = kernel.now > calm + DRAIN_MILLIS || (kernel.now > calm && atRest(world))
    if (over) world.watch.finish()
    else kernel.after(LOOK_MILLIS, look)
    world.over = over
  }
  look()
  return world
}

/** Nobody has pending actions, and the store holds nothing. */
const atRest = ({ callers, pendingTopUps, platform, watch }: World): boolean =>
  watch.drained && watch.told && platform.pending + pendingTopUps === 0 && callers.every(({ done }) => done)

const end = (world: World): Played => ({
  plan: world.plan,
  violation: world.violation,
  steps: world.steps,
  changes: world.watch.changes,
  seen: world.watch.seen,
  millis: world.millis(),
  trace: world.trace ?? [],
})

/** Runs one event; false when the history is over. */
const step = (world: World): boolean => {
  const { kernel } = world
  kernel.drain()
  if (kernel.inflight > 0) return true
  if (world.violation !== undefined || world.over) return false
  return kernel.next()
}

/** Runs on the embedded store. */
export const play = (plan: Plan, options: Options = {}): Played => {
  const world = begin(plan, options)
  while (step(world)) {}
  return end(world)
}

/** Runs on an asynchronous store. */
export const playAsync = async (plan: Plan, options: Options): Promise<Played> => {
  const world = begin(plan, options)
  while (step(world)) if (world.kernel.inflight > 0) await world.kernel.answered()
  if (world.kernel.broken !== undefined) throw new Error("the store failed", { cause: world.kernel.broken })
  return end(world)
}
