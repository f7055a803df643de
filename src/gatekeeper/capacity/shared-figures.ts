/** The platform's concurrency as instances share it through the store (`./rules/capacity.ts`). */

import { Effect, Schema } from "effect"
import { isKnownNumber, UNKNOWN_SLOTS } from "../../fifo-queue/bounds.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { NO_CONTEXT, ruleOf } from "../../store/rule.ts"
import { runPlain } from "../../store/rules/run.ts"
import type { Store } from "../../store/Store.ts"
import {
  type CapacityFound,
  type CapacityKnown,
  type CapacityLook,
  readCapacity,
  saveCapacity,
} from "./rules/capacity.ts"

const readRule = ruleOf(
  "capacity.read",
  runPlain(readCapacity),
  Schema.Struct({
    mayAsk: Schema.Boolean,
    slots: Schema.optionalKey(Schema.Number),
    problem: Schema.String,
  }),
)
const saveRule = ruleOf("capacity.save", runPlain(saveCapacity), Schema.Literal(true))

const keyOf = (campaign: string): string => `vg:{${encodeURIComponent(campaign)}}:capacity`

/** A number of slots as it is shared: JSON has no infinity. */
export const shareable = (slots: number): number => Math.min(slots, UNKNOWN_SLOTS)
/** The JSON of Redis keeps 14 digits, so `UNKNOWN_SLOTS` comes back as another number. */
export const fromShared = (slots: number): number => (isKnownNumber(slots) ? slots : Number.POSITIVE_INFINITY)

/** Campaigns are identified by their keys. Times in ms since 1970. */
export interface SharedFigures {
  /**
   * The shared figures of a campaign, and whether this instance should ask the platform. Slots that nobody knows are infinite. `now` is the
   * store's time.
   */
  readonly read: (campaign: string, now: number, how: CapacityLook) => Effect.Effect<CapacityKnown, StoreUnavailable>
  /** Stores what the platform answered at `askedAt`, its slots `shareable`. The other instances read it; nothing is published to them. */
  readonly save: (campaign: string, askedAt: number, found: CapacityFound) => Effect.Effect<void, StoreUnavailable>
}

export const sharedFigures = (store: Store["Service"]): SharedFigures => ({
  read: (campaign, now, call) =>
    Effect.map(
      store.run(readRule, { keys: [keyOf(campaign)], now, context: NO_CONTEXT, call }),
      ({ slots, ...rest }): CapacityKnown => (slots === undefined ? rest : { ...rest, slots: fromShared(slots) }),
    ),
  save: (campaign, askedAt, call) =>
    Effect.asVoid(store.run(saveRule, { keys: [keyOf(campaign)], now: askedAt, context: NO_CONTEXT, call })),
})
