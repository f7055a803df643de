/** Generates histories: `planOf(seed)` always gives the same one. */
import { Chance, keyed } from "../harness/chance.ts"
import { controlActions, controlOf, takesOf, talkOf, tokenOf } from "./control.ts"
import {
  type AccountPlan,
  type Action,
  ARRIVE_AFTER_MILLIS,
  type Arrive,
  type Outcome,
  type Plan,
  type PlatformScript,
} from "./plan.ts"
import { CAMPAIGN, type CampaignName, OTHER } from "./settings.ts"
import { shaped } from "./shapes.ts"

const pickBy = <A>(hash: number, from: readonly [A, ...ReadonlyArray<A>]): A => from[hash % from.length] ?? from[0]

/** Two kinds of the same trouble. */
const VARIANTS: { readonly [mood in Outcome]?: readonly [Outcome, Outcome] } = {
  failed: ["failed", "unreachable"],
  ghost: ["ghost", "lost"],
}

/** `key` names the script in its history. */
const platformScript = (chance: Chance, rough: number, seed: number, key: string): PlatformScript => {
  const troubled = chance.percent(rough)
  const mood: Outcome = troubled
    ? chance.pick(
        ...(["capacity", "capacity", "capacity", "limited", "limited"] as const),
        ...(["unacceptable", "unacceptable", "refused", "failed", "ghost"] as const),
      )
    : "started"
  const outcome = VARIANTS[mood]?.[keyed(seed, `variant ${key}`) % 2] ?? mood
  const talk = chance.percent(5) ? chance.between(1, 200) : chance.between(1_000, 20_000)
  const late = chance.percent(15) ? chance.between(5_000, 100_000) : chance.between(0, 300)
  const webhooks = chance.percent(10)
    ? []
    : chance.percent(25)
      ? [late, late + chance.between(0, 2_000), late + chance.between(0, 90_000)]
      : [late]
  const slow = chance.below(100)
  // longer than a gate waits: each holds a slot in doubt for minutes, so more than one per caller adds nothing
  const tooSlow = slow < 4 && key.endsWith(" 0")
  const delay = tooSlow
    ? chance.between(20_000, 45_000)
    : slow < 20
      ? chance.between(1_000, 9_000)
      : chance.between(5, 400)
  const retryAfter = pickBy(keyed(seed, `retry after ${key}`), [0, 250, 1_000, 4_000, 60_000])
  const names = pickBy(keyed(seed, `names ${key}`), ["both", "both", "web", "conversation"] as const)
  // at once, or at the second check after a start
  const historyAfter = pickBy(keyed(seed, `history ${key}`), [0, 0, 3_000])
  const usual = { delay, outcome, retryAfter, talk, webhooks, names, historyAfter }
  switch (keyed(seed, `special ${key}`) % 24) {
    case 0:
    case 1:
      // ended, and reported again and again, before the answer to its start has arrived
      return { ...usual, delay: Math.max(delay, 400), talk: 1 + (delay >> 2), webhooks: [0, 30, 50] }
    case 2:
    case 4:
    case 5:
      // only the audit can learn the other id
      return { ...usual, talk: 195_000 + talk, names: names === "both" ? "web" : names, historyAfter: 100_000 }
    case 3:
      // ended soon after the answer has arrived, before the other id is learnt
      return { ...usual, talk: (delay >> 1) + 1 + (talk % 700), names: names === "both" ? "conversation" : names }
    default:
      return usual
  }
}

/** In every sixth history nobody can reach the platform for a while. */
const outageOf = (seed: number, millis: number): Pick<Plan, "outageFrom" | "outageTo"> => {
  if (keyed(seed, "outage") % 6 > 0) return { outageFrom: 0, outageTo: 0 }
  const outageFrom = keyed(seed, "outage from") % millis
  return { outageFrom, outageTo: outageFrom + 3_000 + (keyed(seed, "outage for") % 30_000) }
}

/** In every fifth history both campaigns have callers, and share an account. */
const accountOf = (seed: number, slotsFromPlatform: boolean): AccountPlan | undefined => {
  if (!hasAccount(seed)) return undefined
  const cap = pickBy(keyed(seed, "cap"), [1, 2, 2, 3])
  // a campaign must be left a slot, also when the platform has fewer
  const reserves = cap === 1 || slotsFromPlatform ? "none" : pickBy(keyed(seed, "reserves"), ["none", "one", "both"])
  return { cap, reserved: { campaign: reserves === "none" ? 0 : 1, other: reserves === "both" ? 1 : 0 } }
}

const hasAccount = (seed: number): boolean => keyed(seed, "account") % 5 === 0

/** The campaign that a caller requests. */
const requested = (seed: number, id: number): CampaignName =>
  hasAccount(seed) && keyed(seed, `campaign of ${id}`) % 2 === 0 ? OTHER : CAMPAIGN

const sometimes = (chance: Chance, percent: number, low: number, high: number): number =>
  chance.percent(percent) ? chance.between(low, high) : -1

/**
 * The answers to a caller's starts; sometimes the platform is at capacity so often that its campaign backs off for
 * long.
 */
const platformScripts = (chance: Chance, id: number, rough: number, seed: number): Arrive["platform"] => {
  const script = (rough: number, key: string): PlatformScript =>
    talkOf(seed, key, platformScript(chance, rough, seed, key))
  const first = script(rough, `${id} 0`)
  const further = [script(rough >> 1, `${id} 1`), script(0, `${id} 2`)]
  if (rough === 0 || keyed(seed, `full ${id}`) % 24 > 0) return [first, ...further]
  const full = { ...first, outcome: "capacity", delay: first.delay % 400 } as const
  return [full, full, full, full, ...further]
}

const arrival = (
  chance: Chance,
  id: number,
  at: number,
  gates: number,
  rough: number,
  windowMillis: number,
  seed: number,
): Arrive => ({
  kind: "arrive",
  at,
  id,
  campaign: requested(seed, id),
  address: chance.below(12),
  gate: chance.below(gates),
  hangUp: sometimes(chance, 4, 0, 50),
  connect: sometimes(chance, 92, 0, chance.pick(50, 200, 8_000)),
  // sometimes close to the end of the window
  react: chance.percent(8)
    ? chance.between(windowMillis - 100, windowMillis + 900)
    : sometimes(chance, 88, 0, chance.pick(100, 3_000, 3_000, 40_000)),
  twice: sometimes(chance, 8, 0, chance.pick(1, 1_500)),
  early: sometimes(chance, 5, 0, 10_000),
  vanish: sometimes(chance, 25, 0, 30_000),
  silently: chance.percent(40),
  comeBack: sometimes(chance, 60, 0, 25_000),
  leave: sometimes(chance, 12, 0, 40_000),
  poll: sometimes(chance, 15, 500, 6_000),
  hidden: id % 5 === 4,
  rejoin: sometimes(chance, 12, 0, 20_000),
  retries: chance.below(3),
  ...controlledIn(seed, id),
  platform: platformScripts(chance, id, rough, seed),
})

const controlledIn = (seed: number, id: number): Pick<Arrive, "takes" | "token"> => {
  const [takes, token] = [takesOf(seed, id), tokenOf(seed, id)]
  return { ...(takes === undefined ? {} : { takes }), ...(token === undefined ? {} : { token }) }
}

/** Generates a history. */
export const planOf = (seed: number): Plan => {
  const chance = new Chance(seed)
  const gates = chance.pick(1, 2, 2, 3, 3, 4)
  const slotsFromPlatform = chance.percent(30)
  const slots = chance.pick(1, 1, 1, 2, 2, 3)
  const millis = chance.between(20_000, 60_000)
  const windowSeconds = chance.pick(5, 10, 30)
  // how much goes wrong, from nothing to a lot
  const rough = chance.pick(0, 10, 25, 50)
  const trouble = chance.pick(0, 1, 3, 8)
  const arrivals = chance.between(4, 26)
  const actions: Array<Action> = []
  // in bursts, so that arrivals coincide
  let at = 100
  for (let id = 0; id < arrivals; id++) {
    at = chance.percent(50) ? at + chance.below(12) : chance.between(100, millis)
    actions.push(arrival(chance, id, at, gates, rough, windowSeconds * 1000, seed))
  }
  for (let n = 0; n < trouble; n++) {
    const at = chance.between(0, millis)
    const gate = chance.below(gates)
    switch (chance.pick("crash", "crash", "crash", "freeze", "store", "store", "bus", "bus", "slots", "stop")) {
      case "crash": {
        const when = chance.pick("now", "before", "after", "platform")
        actions.push({ kind: "crash", at, gate, when, downMillis: chance.pick(10, 500, 4_000, 30_000) })
        break
      }
      case "freeze": {
        const when = keyed(seed, `freeze ${n}`) % 2 === 0 ? "platform" : "now"
        const millis = chance.pick(300, 3_000, 12_000, 38_000)
        // the shortest would hit no start: the longest outlasts one
        actions.push({
          kind: "freeze",
          at,
          gate,
          when,
          millis: when === "platform" && millis === 300 ? 38_000 : millis,
          clocks: pickBy(keyed(seed, `clocks ${n}`), ["none", "steady", "both"] as const),
        })
        break
      }
      case "store": {
        const mode = chance.pick("refused", "unheard", "late", "mixed", "mixed")
        const everywhere = chance.percent(40)
        const millis = chance.pick(20, 300, 3_000, 15_000)
        const met = actions[keyed(seed, `late ${n}`) % arrivals]
        // of one gate, from the start of a call until after its deadline: the session is bound after others have given
        // up the start
        if (mode === "refused" && met?.kind === "arrive" && keyed(seed, `long ${n}`) % 2 === 0) {
          actions.push({ kind: "store", at: met.at + ARRIVE_AFTER_MILLIS + 60, gate: met.gate, millis: 36_000, mode })
          break
        }
        // the shortest would hit nobody: an admission is late, or is executed without an answer, and its follow-up is
        // not
        if ((mode === "late" || mode === "mixed") && millis < 3_000 && met !== undefined) {
          actions.push({ kind: "store", at: met.at + ARRIVE_AFTER_MILLIS, gate: -1, millis: 300, mode })
          break
        }
        const swallows = mode === "late" && keyed(seed, `swallows ${n}`) % 2 === 0
        actions.push({ kind: "store", at, gate: everywhere ? -1 : gate, millis, mode: swallows ? "swallowed" : mode })
        break
      }
      case "bus":
        actions.push({
          kind: "bus",
          at,
          millis: chance.between(500, 40_000),
          mode: chance.pick("lose", "lose", "repeat", "reorder"),
        })
        break
      case "stop":
        actions.push({
          kind: "stop",
          at,
          gate,
          when: keyed(seed, `stop ${n}`) % 2 === 0 ? "platform" : "now",
          downMillis: chance.pick(10, 2_000, 20_000),
        })
        break
      case "slots":
        if (slotsFromPlatform) actions.push({ kind: "slots", at, slots: chance.between(1, 4) })
    }
  }
  if (keyed(seed, "remove") % 6 === 0) {
    // as long as a rolling restart takes, or until the campaign is cleared
    const lasting = pickBy(keyed(seed, "remove for"), [15_000, 100_000, 250_000, 900_000])
    actions.push({ kind: "remove", at: keyed(seed, "remove at") % millis, millis: lasting })
  }
  if (keyed(seed, "unheard starts") % 3 === 0) {
    // the starts of a gate fail, whether the store has taken them or not; the page starts again elsewhere while the gate reports
    const gate = keyed(seed, "unheard starts of") % gates
    actions.push({ kind: "store", at: keyed(seed, "unheard starts at") % millis, gate, millis: 15_000, mode: "starts" })
  }
  actions.push(...controlActions(seed, millis, gates, arrivals))
  const account = accountOf(seed, slotsFromPlatform)
  return shaped({
    seed,
    gates,
    skewMillis: chance.pick(0, 0, 0, 40, 40, 2_000),
    slots,
    ...(account === undefined ? {} : { account }),
    slotsFromPlatform,
    maxLength: chance.pick(2, 6, 100, 100),
    graceSeconds: chance.pick(1, 5, 10, 30),
    windowSeconds,
    callMinutes: chance.pick(1, 1, 2, 4),
    concurrent: chance.pick(0, 0, 1, 2),
    hourly: chance.pick(0, 0, 3),
    status: chance.pick("truth", "unknown", "fails"),
    ...outageOf(seed, millis),
    networkShare: keyed(seed, "share") % 4 === 0 ? 1 : 0.34,
    control: controlOf(seed, account !== undefined),
    millis,
    actions,
  })
}

/** A crowd: more simultaneous callers than one step of the store handles, most of whom leave soon. */
export const crowdOf = (seed: number, callers: number): Plan => {
  const chance = new Chance(seed)
  const plan = planOf(seed)
  const actions = Array.from({ length: callers }, (_, id): Action => {
    const caller = arrival(chance, id, 100 + chance.below(1_500), plan.gates, 0, plan.windowSeconds * 1000, seed)
    return {
      ...caller,
      campaign: CAMPAIGN,
      address: id % 250,
      connect: chance.percent(2) ? 10 : -1,
      poll: -1,
      rejoin: -1,
      retries: 0,
    }
  })
  const { account: _, ...own } = plan
  // without an account nobody asks another campaign
  const control = { ...plan.control, ...(plan.control.overflow && controlOf(seed, false)) }
  return { ...own, control, maxLength: 10_000, concurrent: 0, hourly: 0, slots: 1, slotsFromPlatform: false, actions }
}
