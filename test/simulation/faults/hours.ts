/** Faults in what a close by the hours does to those who wait. */
import type { HoursNow } from "../../../src/fifo-queue/inputs.ts"
import { asked, queue, tampered } from "../tampering.ts"
import type { Planted } from "../world.ts"

/** A sweep that is told something else of the hours. */
const told = (change: (hours: HoursNow & { readonly _tag: "closed" }) => HoursNow): NonNullable<Planted["rule"]> =>
  asked("sweep", ({ call }) => ({
    call: call.hours?._tag === "closed" ? { ...call, hours: change(call.hours) } : call,
  }))

const DAY_MILLIS = 86_400_000

export const hoursFaults: ReadonlyArray<Planted> = [
  { name: "those who wait are not served after the close", rule: told((hours) => ({ ...hours, servedMillis: 0 })) },
  {
    name: "a close counts from the same time of the day before",
    rule: asked("sweep", ({ call }, s) => {
      if (call.hours?._tag !== "closed") return {}
      s.db.hset(s.keys.meta, "openAt", "0")
      return { call: { ...call, hours: { ...call.hours, since: call.hours.since - DAY_MILLIS } } }
    }),
  },
  { name: "those who wait are served for ever after the close", rule: told(() => ({ _tag: "none" })) },
  {
    name: "whose wait ends at the close pays for it",
    rule: queue("sweep", (_s, _call, real) => {
      const answer = real()
      const { settlements = [] } = answer
      return {
        ...answer,
        settlements: settlements.map((each) => (each.kind === "refund" ? { ...each, kind: "release" as const } : each)),
      }
    }),
  },
  {
    name: "a gate without hours does not keep those who wait",
    rule: tampered("sweep", (db, _s, { hours }) => ({
      hset: (key, field, value) =>
        field === "openAt" && hours?._tag === "none" ? undefined : db.hset(key, field, value),
    })),
  },
  {
    name: "the first hours of a campaign count from the last close",
    rule: tampered("sweep", (db, s, { hours }) => ({
      hget: (key, field) => (field === "hoursAt" && hours?._tag === "closed" ? String(s.now) : db.hget(key, field)),
    })),
  },
  {
    name: "a sweep that offers a slot says that the campaign is open",
    rule: asked("sweep", ({ call }) => ({ call: { ...call, hours: call.hours ?? { _tag: "open" } } })),
  },
]
