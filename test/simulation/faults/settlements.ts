/** Faults in what a caller is charged and gets back. */
import type { StepAnswer } from "../../../src/fifo-queue/answers.ts"
import type { Settlement } from "../../../src/protocol/settlements.ts"
import { everywhere, failedAs, queue, replaced, tampered } from "../tampering.ts"
import type { Planted } from "../world.ts"

/** Changes the settlements of an answer. */
const settledAs = <A>(
  { settlements, ...rest }: StepAnswer<A>,
  change: (settlement: Settlement) => Settlement,
): StepAnswer<A> => (settlements === undefined ? rest : { ...rest, settlements: settlements.map(change) })

/** A step takes another time for the latest one in which no gate swept: when it began and ended. */
const unattended = (times: (now: number) => readonly [from: number, until: number]): NonNullable<Planted["rule"]> =>
  everywhere((name) =>
    tampered(name, (db, { now }) => ({
      hgetNumbers: (key, fields) => (fields.includes("unattendedFrom") ? times(now) : db.hgetNumbers(key, fields)),
    })),
  )

export const settlementFaults: ReadonlyArray<Planted> = [
  {
    name: "a call is charged the time beyond its limit in which no gate ran",
    rule: unattended(() => [0, 0]),
  },
  {
    name: "a call is not charged the time beyond its limit, though gates ran",
    rule: unattended((now) => [0, now]),
  },
  {
    name: "quota is not given back",
    rule: replaced("limits.giveBack", (real) => (asked) => (asked.call.kind === "refund" ? 0 : real(asked))),
  },
  {
    name: "a missed turn costs only what a call does",
    rule: replaced(
      "limits.giveBack",
      (real) => (asked) =>
        real(asked.call.kind === "missed" ? { ...asked, call: { ...asked.call, kind: "release" } } : asked),
    ),
  },
  {
    name: "a called ticket that leaves gets quota back",
    rule: queue("leave", (_s, _call, real) => settledAs(real(), (each) => ({ ...each, kind: "refund" }))),
  },
  {
    name: "a called ticket that leaves late pays only for a call",
    rule: queue("leave", (_s, _call, real) =>
      settledAs(real(), (each) => (each.kind === "missed" ? { ...each, kind: "release" } : each)),
    ),
  },
  {
    name: "a concurrent unit is not given back",
    rule: replaced("limits.giveBack", () => () => 0),
  },
  {
    name: "the queue forgets a settlement",
    rule: everywhere((name) =>
      tampered(name, (db, s) => ({
        zadd: (key, score, member) => (key === s.keys.settlements ? undefined : db.zadd(key, score, member)),
      })),
    ),
  },
  {
    name: "a start refused for what the caller sent is refunded",
    rule: failedAs("refused", "failed"),
  },
]
