/** What instances share of the platform's concurrency (`../rules/capacity.ts`). */
import { Effect, Schema } from "effect"
import type { CapacityFound, CapacityKnown, CapacityLook } from "../rules/capacity.ts"
import { runs } from "../rules/rules.ts"
import type { StoreUnavailable } from "../Session.ts"
import type { Store } from "../Store.ts"
import { NO_CONTEXT, ruleOf } from "../store/rule.ts"

const look = ruleOf(
  "capacity.look",
  runs["capacity.look"],
  Schema.Struct({
    mayAsk: Schema.Boolean,
    slots: Schema.optionalKey(Schema.Number),
    problem: Schema.String,
  }),
)
const tell = ruleOf("capacity.tell", runs["capacity.tell"], Schema.Literal(true))

/** The key of a campaign's figures, under its hash tag. */
const keyOf = (campaign: string): string => `vg:{${encodeURIComponent(campaign)}}:capacity`

/** Campaigns by their keys; times in ms since 1970. */
export interface CapacityShared {
  /** What is known of a campaign, and whether it is this instance's turn to ask. `now` is the store's time. */
  readonly look: (campaign: string, now: number, how: CapacityLook) => Effect.Effect<CapacityKnown, StoreUnavailable>
  /** Tells the others what was found when the platform was asked at a time. */
  readonly tell: (campaign: string, askedAt: number, found: CapacityFound) => Effect.Effect<void, StoreUnavailable>
}

export const makeCapacityShared = (store: Store["Service"]): CapacityShared => ({
  look: (campaign, now, call) => store.run(look, { keys: [keyOf(campaign)], now, context: NO_CONTEXT, call }),
  tell: (campaign, askedAt, call) =>
    Effect.asVoid(store.run(tell, { keys: [keyOf(campaign)], now: askedAt, context: NO_CONTEXT, call })),
})
