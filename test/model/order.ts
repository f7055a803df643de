/**
 * Checks the order in which tickets got slots, from their records: strictly in the order of acceptance within a network (IPv4 /24,
 * IPv6 /48), and also across networks, except that a ticket may be overtaken while its network holds its share of the slots, by
 * tickets of networks below their share.
 */

/** A ticket that got a slot. Times in ms, by the store's clock. */
export interface GrantedSlot {
  /** its rank in the order of slots */
  readonly lease: number
  /** its rank in the order of acceptance */
  readonly seq: number
  /** empty without a network, which has no share */
  readonly network: string
  /** when it got and released the slot */
  readonly from: number
  readonly until: number
}

const of = ({ network }: GrantedSlot): string => (network === "" ? "" : ` of ${network}`)

/** The precision with which instances know the store's time (ms). */
const TOLERANCE = 100

/**
 * The violations of the order. `returned` are tickets whose start failed and that got another slot, and the slots of their starts
 * in doubt: their order is not checked, but they may have held a slot at any time since they were accepted (`from`).
 *
 * @param maxSlots how many slots a network may hold while others wait
 */
export const orderViolations = (
  given: ReadonlyArray<GrantedSlot>,
  returned: ReadonlyArray<GrantedSlot>,
  maxSlots: number,
): ReadonlyArray<string> => {
  const ordered = given.toSorted((a, b) => a.lease - b.lease)
  const certain = Map.groupBy(given, ({ network }) => network)
  const possible = Map.groupBy([...given, ...returned], ({ network }) => network)

  const mayHold = (network: string, at: number): number =>
    (possible.get(network) ?? []).filter(({ from, until }) => from - TOLERANCE <= at && at <= until + TOLERANCE).length
  const surelyHolds = (network: string, at: number): number =>
    (certain.get(network) ?? []).filter(({ from, until }) => from + TOLERANCE < at && at < until - TOLERANCE).length

  const mayOvertake = (early: GrantedSlot, late: GrantedSlot): boolean =>
    late.network !== "" &&
    early.network !== late.network &&
    mayHold(late.network, early.from) >= maxSlots &&
    (early.network === "" || surelyHolds(early.network, early.from) < maxSlots)

  const wrong: Array<string> = []
  /** for each ticket, the highest rank of acceptance among those before it */
  const highest: Array<number> = []
  for (const [index, late] of ordered.entries()) {
    for (let n = index - 1; n >= 0 && (highest[n] ?? 0) > late.seq; n--) {
      const early = ordered[n]
      if (early === undefined || early.seq < late.seq || mayOvertake(early, late)) continue
      wrong.push(`I2: place ${late.seq}${of(late)} got a slot after place ${early.seq}${of(early)}`)
      break
    }
    highest.push(Math.max(late.seq, highest.at(-1) ?? 0))
  }
  return wrong
}
