/** Faults of gates: requests that they withdraw, a stop, and campaigns that they no longer serve. */

import { load } from "../../../src/fifo-queue/rules/shared/load.ts"
import type { GateHears } from "../../../src/gatekeeper/peers/rules/membership.ts"
import { asked, each, queue, tampered } from "../tampering.ts"
import type { Planted } from "../world.ts"

export const gateFaults: ReadonlyArray<Planted> = [
  {
    name: "a request that was answered with 503 keeps its ticket",
    // removes all withdrawn ids whose admission is pending
    rule: asked("withdraw", ({ call }, s) => ({ call: { ids: call.ids.filter((id) => load(s, id) === undefined) } })),
  },
  {
    name: "an admission that arrives after its withdrawal is accepted",
    rule: tampered("admit", (db, s) => ({
      zscore: (key, member) => (key === s.keys.forget ? undefined : db.zscore(key, member)),
    })),
  },
  {
    name: "a withdrawn ticket leaves its slot held",
    rule: each(["withdraw", "reportOutage"], (name) =>
      tampered(name, (db, s) => ({
        zrem: (key, member) => (key === s.keys.leases ? true : db.zrem(key, member)),
      })),
    ),
  },
  { name: "a stopping gate does not wait for its starts", hasty: true },
  {
    name: "the webhooks of a removed campaign free nothing",
    rule: queue("end", (s, _call, real) => (s.context.slots === 0 ? { result: "unknown" as const } : real())),
  },
  {
    name: "a gate ignores campaigns that it does not serve",
    heard: (rule, answer) => {
      if (rule !== "gates.heartbeat") return answer
      const { removed: _, ...hears } = answer as GateHears
      return hears
    },
  },
  {
    name: "tickets in a removed campaign wait forever",
    rule: queue("clear", () => ({ result: { _tag: "served" as const } })),
  },
  {
    name: "a campaign is cleared while another gate serves it",
    heard: (rule, answer) => {
      const { removed, ...hears } = answer as GateHears
      if (rule !== "gates.heartbeat" || removed === undefined) return answer
      return { ...hears, removed: removed.map((each) => ({ ...each, seenAt: 1 })) }
    },
    rule: asked("clear", () => ({ call: { unservedMillis: 0 } })),
  },
  {
    name: "tickets removed with their campaign get no quota back",
    rule: queue("clear", (_s, _call, real) => {
      const { settlements: _, ...rest } = real()
      return rest
    }),
  },
  {
    name: "a called ticket that starts at a gate without its campaign ends there",
    rule: asked("fail", ({ call, context }) => ({
      call: context.slots === 0 ? { ...call, reason: "failed" as const } : call,
    })),
  },
]
