/** The state that gates on one store share (`./rules/heartbeat.ts`). */
import { Effect, Schema } from "effect"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { NO_CONTEXT, ruleOf } from "../../store/rule.ts"
import { runPlain } from "../../store/rules/run.ts"
import type { Store } from "../../store/Store.ts"
import { forgetCampaign, type GateHears, type GateSays, gateHeartbeat } from "./rules/heartbeat.ts"

/** What a gate publishes about a campaign that it serves, for gates that do not. */
const About = Schema.fromJsonString(Schema.Struct({ name: Schema.String, tag: Schema.String, slots: Schema.Int }))
export type About = typeof About.Type
export const decodeAbout = Schema.decodeUnknownOption(About)

const heartbeatRule = ruleOf(
  "gates.heartbeat",
  runPlain(gateHeartbeat),
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

/** The answer to a heartbeat; the lists may be empty. */
export type HeartbeatAnswer = Required<GateHears>

export interface SharedState {
  /** Sends a heartbeat. `now` is the store's time (ms since 1970). `offered` becomes the database's id if it has none. */
  readonly heartbeat: (says: GateSays, offered: string, now: number) => Effect.Effect<HeartbeatAnswer, StoreUnavailable>
  readonly forget: (key: string, seenAt: number) => Effect.Effect<boolean, StoreUnavailable>
}

export const sharedState = (store: Store["Service"]): SharedState => ({
  heartbeat: ({ announcement, campaigns, digest, host, id, settings }, offered, now) => {
    const call = { id, host, settings, digest, campaigns, announcement, offered }
    return Effect.map(
      store.run(heartbeatRule, { keys, now, context: NO_CONTEXT, call }),
      ({ others = [], removed = [], ...heard }) => ({ ...heard, removed, others }),
    )
  },
  forget: (key, seenAt) =>
    Effect.flatMap(store.now, (now) =>
      store.run(forgetRule, { keys, now, context: NO_CONTEXT, call: { key, seenAt } }),
    ),
})
