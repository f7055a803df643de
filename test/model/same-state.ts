/** Compares two answers of the probe of a campaign's state, without the times of sweeps and heartbeats, which change at every step. */
import type { Hash, Probed, Scores } from "./queue-state.ts"

const haveSameScores = (a: Scores, b: Scores): boolean =>
  a.length === b.length && a.every(([member, score], i) => b[i]?.[0] === member && b[i][1] === score)

const haveSameFields = <A>(
  a: Hash<A>,
  b: Hash<A>,
  areSame: (a: A | undefined, b: A | undefined, field: string) => boolean,
): boolean =>
  a.size === b.size &&
  a.found.length === b.found.length &&
  a.found.every(([field, value], i) => b.found[i]?.[0] === field && areSame(value, b.found[i][1], field))

const isSame = (a: unknown, b: unknown): boolean => a === b

/** Records of the memory store are the same objects while their text is the same; those of Redis are decoded each time. */
const isSameRecord = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

export const isSameState = (a: Probed, b: Probed): boolean =>
  haveSameFields(a.tickets, b.tickets, isSameRecord) &&
  haveSameFields(a.meta, b.meta, (x, y, field) => field === "sweptAt" || x === y) &&
  haveSameFields(a.data, b.data, isSame) &&
  haveSameFields(a.sessions, b.sessions, isSame) &&
  haveSameFields(a.networks, b.networks, isSame) &&
  haveSameScores(a.waiting, b.waiting) &&
  haveSameScores(a.presence, b.presence) &&
  haveSameScores(a.leases, b.leases) &&
  haveSameScores(a.endedSessions, b.endedSessions) &&
  haveSameScores(a.forget, b.forget) &&
  haveSameScores(a.settlements, b.settlements) &&
  haveSameScores(a.passed, b.passed) &&
  haveSameScores(a.parked, b.parked)
