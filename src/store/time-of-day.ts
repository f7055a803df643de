/**
 * The time of day, by which people, tokens and opening hours go, where a store has a time of its own (`Store.aheadMillis`). What is compared
 * with it is a time that somebody was told or has given; deadlines are compared with the store's time.
 */
import { Effect } from "effect"
import type { Store } from "./Store.ts"

type Clock = Pick<Store["Service"], "aheadMillis" | "now">

/** How far the time of day is ahead of the store's time (ms). */
export const aheadOf = ({ aheadMillis }: Pick<Clock, "aheadMillis">): number => aheadMillis?.() ?? 0

/** The time of day (ms since 1970). */
export const timeOfDay = (store: Clock): Effect.Effect<number> =>
  store.aheadMillis === undefined ? store.now : Effect.map(store.now, (now) => now + aheadOf(store))
