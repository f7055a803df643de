/**
 * How many are called before a ticket, of which its position is made (`positionOf`): all older ones, or under `Queue.NetworkShare`, while
 * networks at their share are passed over, its place as follows.
 *
 * A network has room for as many more calls as its share of the slots leaves beside what it holds (`cap` − held). Of its waiting tickets,
 * as many as there is room for, the oldest first, are called in the order of acceptance; the others only when a slot of their network has
 * come free, or nobody below the share waits. Before a ticket are called at least:
 *
 * - the older tickets of other networks for which their networks have room, and
 * - all older tickets of its own network.
 *
 * Of that the position is made (`position.ts`). It may still grow, when a network that is passed over gets room again, but
 * never is it worse than the number of calls that come first.
 *
 *   - `near` holds the waiting tickets for which their network has room, by their order of acceptance; one without a network always has
 *     room.
 *   - `crowds` holds every waiting ticket of a network as `network seq id`, sorted by network, then by acceptance.
 *   - `fairCap` (meta) is the cap by which `near` was made, `fairAt` when. A sweep makes it anew when the cap has changed.
 *
 * Both sets exist only while the share is below 1. Who is called does not depend on them.
 */

import { ALL, beginsWith, numberOf, textOf, withoutBeginning, wordsOf } from "../../../store/rules/native.ts"
import { isKnownNumber, shareOf } from "../../bounds.ts"
import { positionAt } from "../../position.ts"
import { load, loadWaiting } from "./load.ts"
import { unpaidBefore } from "./own-budgets.ts"
import { meta, type Step } from "./step.ts"
import { networkEntry, type Ticket } from "./ticket.ts"

/** After a change of the cap, `near` is made for another one only when it is this old (ms): gates may differ for a moment. */
const REFIT_MILLIS = 10_000
/** With more waiting tickets than this, `near` is not made from their records: it would block the store for too long. */
const MAX_BUILT = 2_000

/** How many slots a network may hold while others wait. */
export const capOf = (s: Step): number =>
  shareOf(s.context.share, isKnownNumber(s.context.slots) ? s.context.slots : s.slots)

/** The cap by which `near` was made; 0 while there is none. */
const madeCap = (s: Step): number => (s.context.share < 1 ? meta(s, "fairCap") : 0)

const roomOf = (s: Step, network: string, cap: number): number =>
  Math.max(0, cap - Math.max(0, numberOf(s.db.hget(s.keys.networks, `h${network}`))))

/** The rank in `crowds` of a network's oldest ticket; undefined when none waits. */
const firstRank = (s: Step, network: string): number | undefined => {
  const first = s.db.zlexAfter(s.keys.crowds, `${network} `)
  return first !== undefined && beginsWith(first, `${network} `) ? s.db.zrank(s.keys.crowds, first) : undefined
}

/** The entries of a network's waiting tickets from this one on, counted from 0: the oldest is the first. */
const entriesFrom = (s: Step, network: string, from: number, count: number): ReadonlyArray<string> => {
  const first = firstRank(s, network)
  const own: Array<string> = []
  if (first === undefined) return own
  for (const entry of s.db.zrange(s.keys.crowds, first + from, count)) {
    if (beginsWith(entry, `${network} `)) own.push(entry)
  }
  return own
}

const bring = (s: Step, entries: ReadonlyArray<string>): void => {
  for (const entry of entries) {
    const words = wordsOf(entry)
    s.db.zadd(s.keys.near, numberOf(words[1]), words[2] ?? "")
  }
}

const remove = (s: Step, entries: ReadonlyArray<string>): void => {
  for (const entry of entries) s.db.zrem(s.keys.near, wordsOf(entry)[2] ?? "")
}

const insert = (s: Step, id: string, ticket: Ticket, cap: number): void => {
  const { network = "" } = ticket
  if (network === "") {
    s.db.zadd(s.keys.near, ticket.seq, id)
    return
  }
  const entry = networkEntry(id, ticket)
  s.db.zadd(s.keys.crowds, 0, entry)
  const room = roomOf(s, network, cap)
  const older = (s.db.zrank(s.keys.crowds, entry) ?? 0) - (firstRank(s, network) ?? 0)
  if (older >= room) return
  s.db.zadd(s.keys.near, ticket.seq, id)
  remove(s, entriesFrom(s, network, room, 1))
}

/**
 * The ticket waits now.
 * @lazy
 */
export const noteWaiting = (s: Step, id: string, ticket: Ticket): void => {
  const cap = madeCap(s)
  if (cap > 0) insert(s, id, ticket, cap)
}

/**
 * The ticket does not wait any more.
 * @lazy
 */
export const noteGone = (s: Step, id: string, ticket: Ticket): void => {
  const cap = madeCap(s)
  if (cap === 0) return
  s.db.zrem(s.keys.near, id)
  const { network = "" } = ticket
  if (network === "") return
  s.db.zrem(s.keys.crowds, networkEntry(id, ticket))
  const room = roomOf(s, network, cap)
  if (room > 0) bring(s, entriesFrom(s, network, room - 1, 1))
}

/**
 * The ticket's network holds one slot more or less (`by`); its count says so already.
 * @lazy
 */
export const noteHeld = (s: Step, { network = "" }: Ticket, by: number): void => {
  const cap = network === "" ? 0 : madeCap(s)
  if (cap === 0) return
  const room = roomOf(s, network, cap)
  if (by > 0) remove(s, entriesFrom(s, network, room, 1))
  else if (room > 0) bring(s, entriesFrom(s, network, room - 1, 1))
}

/**
 * How many are called before a waiting ticket, at least. `rank` is how many older tickets wait.
 * @lazy
 */
const calledBefore = (s: Step, id: string, ticket: Ticket, rank: number): number => {
  const cap = madeCap(s)
  if (cap === 0) return rank
  const { near } = s.keys
  const before = s.db.zcard(near) - s.db.zcountFrom(near, ticket.seq)
  const { network = "" } = ticket
  if (network === "") return Math.min(rank, before)
  const own = s.db.zrank(s.keys.crowds, networkEntry(id, ticket))
  // an older gate has accepted it
  if (own === undefined) return rank
  const beyond = own - (firstRank(s, network) ?? 0) - roomOf(s, network, cap)
  return Math.min(rank, before + Math.max(0, beyond))
}

/**
 * The position of a waiting ticket. Those that wait for budgets of their callers are not counted.
 *
 * @param rank how many older tickets wait
 * @param known its record, where the rule has read it
 */
export const positionOf = (s: Step, id: string, rank: number, known?: Ticket): number => {
  const skipped = s.context.awaitsOwn === true ? unpaidBefore(s, id) : 0
  if (s.context.share >= 1) return positionAt(Math.max(0, rank - skipped))
  const ticket = known ?? load(s, id)
  const before = ticket === undefined ? rank : calledBefore(s, id, ticket, rank)
  return positionAt(Math.max(0, before - skipped))
}

/**
 * Makes both sets from the records of all who wait.
 * @lazy
 */
export const buildPlaces = (s: Step): void => {
  const { db, keys } = s
  db.del(keys.near)
  db.del(keys.crowds)
  db.hdel(keys.meta, "fairCap")
  db.hdel(keys.meta, "fairAt")
  if (s.context.share >= 1 || db.zcard(keys.waiting) > MAX_BUILT) return
  const cap = capOf(s)
  for (const id of db.zrange(keys.waiting, 0, ALL)) {
    const ticket = loadWaiting(s, id)
    if (ticket !== undefined) insert(s, id, ticket, cap)
  }
  db.hset(keys.meta, "fairCap", textOf(cap))
  db.hset(keys.meta, "fairAt", textOf(s.now))
}

/** The places of newcomers, who are younger than all who wait, in one step. */
export interface LastPlaces {
  readonly cap: number
  /** how many tickets `near` holds, with the newcomers of this step */
  before: number
  /** by network */
  readonly rooms: { [network: string]: number }
  /** score, member, score, member … */
  readonly near: Array<number | string>
  readonly crowds: Array<number | string>
}

/**
 * Undefined where places are not known yet.
 * @param made the cap by which `near` was made
 * @param length how many wait
 * @lazy
 */
export const lastPlacesOf = (s: Step, made: number, length: number): LastPlaces | undefined => {
  if (made === 0 && length > 0) return undefined
  if (made === 0) buildPlaces(s)
  return { cap: made === 0 ? capOf(s) : made, before: s.db.zcard(s.keys.near), rooms: {}, near: [], crowds: [] }
}

/**
 * How many are called before a newcomer that waits, behind `rank` others of whom `own` are of its network.
 * @lazy
 */
const calledBeforeNewcomer = (
  s: Step,
  places: LastPlaces,
  { id, network }: { readonly id: string; readonly network: string },
  seq: number,
  rank: number,
  own: number,
): number => {
  const { before } = places
  let room = own + 1
  if (network !== "") {
    // read after the newcomers who took a slot
    room = places.rooms[network] ?? roomOf(s, network, places.cap)
    places.rooms[network] = room
    places.crowds.push(0)
    places.crowds.push(networkEntry(id, { state: "waiting", seq, accepted: 0, network }))
  }
  if (own < room) {
    places.near.push(textOf(seq))
    places.near.push(id)
    places.before = before + 1
  }
  return Math.min(rank, before + Math.max(0, own - room))
}

/**
 * The position of a newcomer that waits, behind `rank` others of whom `own` are of its network.
 *
 * @param places undefined while `Queue.NetworkShare` has no effect
 * @param skipped how many wait for budgets of their callers, and are not counted
 */
export const positionOfNewcomer = (
  s: Step,
  places: LastPlaces | undefined,
  newcomer: { readonly id: string; readonly network: string },
  seq: number,
  rank: number,
  own: number,
  skipped: number,
): number => {
  const before = places === undefined ? rank : calledBeforeNewcomer(s, places, newcomer, seq, rank, own)
  return positionAt(Math.max(0, before - skipped))
}

/**
 * Stores the newcomers that wait.
 * @lazy
 */
export const saveLastPlaces = (s: Step, { crowds, near }: LastPlaces): void => {
  if (near.length > 0) s.db.zaddMany(s.keys.near, near)
  if (crowds.length > 0) s.db.zaddMany(s.keys.crowds, crowds)
}

/**
 * Changes `near` to another cap: of each network, the tickets between the two.
 * @lazy
 */
export const refitPlaces = (s: Step, from: number, to: number): void => {
  const { db, keys } = s
  const flat = db.hgetall(keys.networks)
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const field = flat[i] as string
    const network = beginsWith(field, "w") ? withoutBeginning(field, 1) : ""
    if (network !== "") {
      const held = Math.max(0, numberOf(db.hget(keys.networks, `h${network}`)))
      const [before, after] = [Math.max(0, from - held), Math.max(0, to - held)]
      if (numberOf(flat[i + 1]) > Math.min(before, after)) {
        if (after > before) bring(s, entriesFrom(s, network, before, after - before))
        else remove(s, entriesFrom(s, network, after, before - after))
      }
    }
  }
  db.hset(keys.meta, "fairCap", textOf(to))
  db.hset(keys.meta, "fairAt", textOf(s.now))
}

/** Keeps both sets as the share and the slots are now. */
export const keepPlaces = (s: Step): void => {
  const made = meta(s, "fairCap")
  if (s.context.share >= 1) {
    if (made > 0) buildPlaces(s)
    return
  }
  const cap = capOf(s)
  if (made === cap) return
  if (made === 0) {
    if (s.db.zcard(s.keys.waiting) <= MAX_BUILT) buildPlaces(s)
  } else if (Math.abs(s.now - meta(s, "fairAt")) >= REFIT_MILLIS) {
    refitPlaces(s, made, cap)
  }
}
