/** Looks into the store beside the gates, on a connection of its own, in one atomic step. */
import { Effect, Layer, Logger, ManagedRuntime } from "effect"
import { KEY_COUNT, keysOf } from "../../../src/queue/step.ts"
import { type Reply, type Script, Store } from "../../../src/Store.ts"
import * as redis from "../../../src/store/redis.ts"
import { list, text } from "../../../src/store/reply.ts"
import { contradictions } from "../../support/queue-invariants.ts"
import type { QueueState, Record } from "../../support/queue-probe.ts"
import { connectionTo } from "../../support/stores.ts"

/** Everything of a campaign: KEYS those of a queue, reply as many lists of names and values, in the order of the keys. */
const snapshot: Script = {
  name: "test.snapshot",
  numberOfKeys: KEY_COUNT,
  lua: `-- test.snapshot
local found = {}
for i, key in ipairs(KEYS) do
  if i <= 3 or i == 7 or i == 12 then found[i] = redis.call('HGETALL', key) else found[i] = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
end
return found
`,
  memory: () => [],
}

/** The campaign that every gate of `settingsFor` serves. */
export const DEFAULT_CAMPAIGN = "campaign-1"

/** What a scenario writes there itself begins so, and is not looked at. */
export const JUNK = "junk-"

const pairs = <A>(reply: Reply | undefined, read: (value: string) => A): ReadonlyMap<string, A> => {
  const flat = list(reply).map(text)
  return new Map(
    flat.flatMap((name, i) =>
      i % 2 === 0 && !name.startsWith(JUNK) ? [[name, read(flat[i + 1] ?? "")] as const] : [],
    ),
  )
}

const recordOf = (json: string): Record => {
  const [
    state = "",
    seq,
    lease = "",
    instance = "",
    caller = "",
    since,
    ,
    network = "",
    ,
    calledAt,
  ]: ReadonlyArray<string> = JSON.parse(json)
  return {
    state,
    seq: Number(seq),
    lease,
    instance,
    caller,
    since: Number(since),
    calledAt: Number(calledAt ?? since),
    network,
  }
}

const stateOf = (reply: Reply): QueueState => {
  const [
    meta,
    tickets,
    data,
    waiting,
    presence,
    leases,
    sessions,
    over,
    forget,
    settle,
    passed,
    networks,
    parked,
    gates,
  ] = list(reply)
  return {
    meta: pairs(meta, Number),
    tickets: pairs(tickets, recordOf),
    data: pairs(data, (value) => value),
    sessions: pairs(sessions, (value) => value),
    waiting: pairs(waiting, Number),
    presence: pairs(presence, Number),
    leases: pairs(leases, Number),
    over: pairs(over, Number),
    forget: pairs(forget, Number),
    settle: pairs(settle, Number),
    passed: new Set(pairs(passed, Number).keys()),
    networks: pairs(networks, Number),
    parked: pairs(parked, Number),
    gates: pairs(gates, Number),
  }
}

export interface StoreView {
  /** what is there now, or undefined while the store is away */
  readonly look: () => Promise<QueueState | undefined>
  readonly dispose: () => Promise<void>
}

/** `campaign` is its `WebCampaignId`. */
export const viewStore = (url: string, campaign = DEFAULT_CAMPAIGN): StoreView => {
  const keys = keysOf(`business-1/${campaign}`)
  const runtime = ManagedRuntime.make(redis.layer(connectionTo(url)).pipe(Layer.provide(Logger.layer([]))))
  return {
    look: () =>
      runtime.runPromise(
        Store.use((store) => store.run(snapshot, keys, [])).pipe(
          Effect.map((reply) => stateOf(reply)),
          Effect.catch(() => Effect.succeed(undefined)),
        ),
      ),
    dispose: () => runtime.dispose(),
  }
}

export interface StoreWatch {
  /** what was wrong at any moment, each once */
  readonly wrongs: () => ReadonlyArray<string>
  /** the most leases that were held at once */
  readonly peak: () => number
  /** tickets that lost a slot without an end: their start failed, or may have happened */
  readonly putBack: () => ReadonlySet<string>
  /** whether start windows were given anew, after an outage that a gate saw */
  readonly windowsAnew: () => boolean
  readonly dispose: () => Promise<void>
}

/**
 * Looks again and again: leases never exceed the slots, no ticket has two, and nothing contradicts itself. With `strict` false
 * a ticket may be called anew, because the store may forget, or the platform be full.
 */
export const watchStore = (view: StoreView, slots: number, everyMillis = 100, strict = true): StoreWatch => {
  const wrongs = new Set<string>()
  let peak = 0
  let windowsAnew = false
  const leases = new Map<string, string>()
  const putBack = new Set<string>()
  let stopped = false
  const watching = (async () => {
    while (!stopped) {
      const state = await view.look()
      if (state !== undefined) {
        // the grace is given anew with them, and lasts longer than the time between two looks
        if ((state.meta.get("mercy") ?? 0) > 0) windowsAnew = true
        for (const [id, { lease }] of state.tickets) {
          const before = leases.get(id) ?? "0"
          if (strict && before !== "0" && before !== lease)
            wrongs.add(`I5: a ticket had lease ${before}, then ${lease}`)
          leases.set(id, lease)
          // what is kept with a start in doubt begins with its ticket
          if (state.tickets.get(id)?.state === "u") putBack.add(state.data.get(id)?.split(" ")[0] ?? "")
          if (state.tickets.get(id)?.state === "w" && lease !== "0") putBack.add(id)
        }
        peak = Math.max(peak, state.leases.size)
        if (state.leases.size > slots) wrongs.add(`I1: ${state.leases.size} leases for ${slots} slots`)
        for (const wrong of contradictions(state)) wrongs.add(wrong)
      }
      await new Promise((resolve) => setTimeout(resolve, everyMillis))
    }
  })()
  return {
    wrongs: () => [...wrongs],
    peak: () => peak,
    putBack: () => putBack,
    windowsAnew: () => windowsAnew,
    dispose: async () => {
      stopped = true
      await watching
    },
  }
}
