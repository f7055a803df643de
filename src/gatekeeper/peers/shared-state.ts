/** The state that gates on one store share (`./rules/membership.ts`). */
import { Effect, Schema } from "effect"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { NO_CONTEXT, ruleOf } from "../../store/rule.ts"
import { runPlain } from "../../store/rules/run.ts"
import type { Store } from "../../store/Store.ts"
import { forgetCampaign, type GateHears, type GateSays, renewMembership } from "./rules/membership.ts"

/** What a gate publishes about a campaign that it serves, for gates that do not. */
const About = Schema.fromJsonString(Schema.Struct({ name: Schema.String, tag: Schema.String, slots: Schema.Int }))
export type About = typeof About.Type
export const decodeAbout = Schema.decodeUnknownOption(About)

const renewRule = ruleOf(
  "gates.heartbeat",
  runPlain(renewMembership),
  Schema.Struct({
    store: Schema.String,
    alive: Schema.Number,
    removed: Schema.optionalKey(
      Schema.Array(Schema.Struct({ key: Schema.String, seenAt: Schema.Number, about: Schema.String })),
    ),
    others: Schema.optionalKey(
      Schema.Array(Schema.Struct({ id: Schema.String, host: Schema.String, settings: Schema.String })),
    ),
  }),
)
const forgetRule = ruleOf("gates.forget", runPlain(forgetCampaign), Schema.Boolean)

const keys: ReadonlyArray<string> = ["alive", "about", "settings", "seen", "campaigns", "store"].map(
  (name) => `vg:{gates}:${name}`,
)

/** The answer to a renewal; the lists may be empty. */
export type MembershipAnswer = Required<GateHears>

export interface SharedState {
  /** Renews the membership of a gate. `now` is the store's time (ms since 1970). `offered` becomes the database's id if it has none. */
  readonly renew: (says: GateSays, offered: string, now: number) => Effect.Effect<MembershipAnswer, StoreUnavailable>
  readonly forget: (key: string, seenAt: number) => Effect.Effect<boolean, StoreUnavailable>
}

export const sharedState = (store: Store["Service"]): SharedState => ({
  renew: ({ announcement, campaigns, digest, host, id, settings }, offered, now) => {
    const call = { id, host, settings, digest, campaigns, announcement, offered }
    return Effect.map(
      store.run(renewRule, { keys, now, context: NO_CONTEXT, call }),
      ({ others = [], removed = [], ...heard }) => ({ ...heard, removed, others }),
    )
  },
  forget: (key, seenAt) =>
    Effect.flatMap(store.now, (now) =>
      store.run(forgetRule, { keys, now, context: NO_CONTEXT, call: { key, seenAt } }),
    ),
})
