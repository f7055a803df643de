/**
 * Judges the order in which tickets were given slots, from their records: of one network (IPv4 /24, IPv6 /48) strictly in the
 * order of acceptance; across networks too, except that a ticket may be overtaken while its network holds its share of the
 * slots, by tickets of networks below theirs.
 */

/** A ticket that was given a slot. Times in ms, of the store. */
export interface Given {
  /** its place in the order of slots */
  readonly lease: number
  /** its place in the order of acceptance */
  readonly seq: number
  /** empty for none, which has no share */
  readonly network: string
  /** since when, and until when, it held the slot */
  readonly from: number
  readonly until: number
}

/** Instances measure the store's time to within this much (ms). */
const TOLERANCE = 100

/**
 * What is wrong with the order. `returned` are tickets whose start did not come about and that were given another slot, and
 * the slots of their starts in doubt: their order says nothing, but they may have held a slot at any time since they were
 * accepted (`from`).
 *
 * @param most how many slots a network may hold while others wait
 */
export const orderViolations = (
  given: ReadonlyArray<Given>,
  returned: ReadonlyArray<Given>,
  most: number,
): ReadonlyArray<string> => {
  const ordered = given.toSorted((a, b) => a.lease - b.lease)
  const certain = Map.groupBy(given, ({ network }) => network)
  const possible = Map.groupBy([...given, ...returned], ({ network }) => network)

  const mayHold = (network: string, at: number): number =>
    (possible.get(network) ?? []).filter(({ from, until }) => from - TOLERANCE <= at && at <= until + TOLERANCE).length
  const surelyHolds = (network: string, at: number): number =>
    (certain.get(network) ?? []).filter(({ from, until }) => from + TOLERANCE < at && at < until - TOLERANCE).length

  const mayOvertake = (early: Given, late: Given): boolean =>
    late.network !== "" &&
    early.network !== late.network &&
    mayHold(late.network, early.from) >= most &&
    (early.network === "" || surelyHolds(early.network, early.from) < most)

  const wrong: Array<string> = []
  /** of each ticket, the highest place among those before it */
  const highest: Array<number> = []
  for (const [index, late] of ordered.entries()) {
    for (let n = index - 1; n >= 0 && (highest[n] ?? 0) > late.seq; n--) {
      const early = ordered[n]
      if (early === undefined || early.seq < late.seq || mayOvertake(early, late)) continue
      wrong.push(
        `place ${late.seq} (${late.network}) was given a slot after place ${early.seq} (${early.network || "no network"})`,
      )
      break
    }
    highest.push(Math.max(late.seq, highest.at(-1) ?? 0))
  }
  return wrong
}
