/**
 * What is promised of offers (`Overflow`), whatever was repeated, lost or late:
 * - Nobody who waits is offered something before the wait is long: the expected one, or the past one.
 * - Whoever waits long is told what is offered: by the answer to the request, by the ticket's state, and by an event to a connected page.
 * - An event tells it to a page once.
 * - Whoever finds the queue full or the campaign closed is told it with the refusal.
 * - All is offered that can be taken: no campaign that is closed or has a used-up budget, and not the campaign that offers it.
 * - Whoever has left for an offer has no place any more, and nobody else loses one by it.
 */
import type { Offer } from "../../src/protocol/offers.ts"

/** Something that settings offer, and whether it can be taken now; `unknown` where a gate may think either. */
export interface Offerable {
  readonly offer: Offer
  readonly now: "open" | "closed" | "unknown"
}

/** What a caller who waits was told, and what was true of the wait. */
export interface ToldOfWait {
  /** how long the caller was told to expect (s); null and undefined for nothing */
  readonly expected: number | null | undefined
  /** how long the caller had waited, at least and at most (ms) */
  readonly waited: readonly [least: number, most: number]
  /** undefined for nothing */
  readonly offers: ReadonlyArray<Offer> | undefined
}

const nameOf = ({ kind, target }: Offer): string => `${kind} ${target}`

/** What is wrong with what was offered to somebody who had to be offered something. */
export const wrongOffers = (
  offers: ReadonlyArray<Offer> | undefined,
  all: ReadonlyArray<Offerable>,
): ReadonlyArray<string> => {
  const given = new Set((offers ?? []).map(nameOf))
  const known = new Map(all.map(({ now, offer }) => [nameOf(offer), now]))
  return [
    ...[...given].flatMap((name) =>
      known.has(name) && known.get(name) !== "closed" ? [] : [`O3: ${name} is offered, and cannot be taken`],
    ),
    ...[...known].flatMap(([name, now]) => (now !== "open" || given.has(name) ? [] : [`O3: ${name} is not offered`])),
  ]
}

/** What is wrong with what a caller who waits was told. */
export const wrongTelling = (
  afterSeconds: number,
  { expected, offers, waited: [least, most] }: ToldOfWait,
  all: ReadonlyArray<Offerable>,
): ReadonlyArray<string> => {
  const isExpected = (expected ?? 0) > afterSeconds
  if (offers !== undefined && !isExpected && most <= afterSeconds * 1000)
    return [`O1: something is offered after ${most} ms, with ${expected} s expected`]
  if (offers === undefined && (isExpected || least > afterSeconds * 1000) && all.some(({ now }) => now === "open"))
    return [`O2: nothing is offered after ${least} ms, with ${expected} s expected`]
  return offers === undefined ? [] : wrongOffers(offers, all)
}
