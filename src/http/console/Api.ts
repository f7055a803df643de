/**
 * The console's own wire, for its page: one view to look at every two seconds, the trail, and the actions. Times are
 * milliseconds since 1970. It is no part of the gate's documented wire.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"

const Count = Schema.Int

const Figures = Schema.Struct({
  waiting: Count,
  present: Count,
  held: Count,
  live: Count,
  averageMillis: Count,
  backoffUntil: Count,
  disrupted: Schema.Boolean,
  probeUntil: Count,
  doubts: Count,
  paused: Schema.Boolean,
  draining: Schema.Boolean,
  accepted: Count,
  firstAcceptedAt: Count,
  slotPage: Schema.Array(
    Schema.Struct({
      ticket: Schema.String,
      state: Schema.Literals(["called", "starting", "live", "in_doubt"]),
      lease: Schema.String,
      since: Count,
      deadline: Count,
      acceptedAt: Count,
      attached: Schema.Boolean,
    }),
  ),
  linePage: Schema.Array(Schema.Struct({ ticket: Schema.String, seq: Count, acceptedAt: Count, presentUntil: Count })),
})

/** What the page shows; `queue` is null while the store is away. */
export const View = Schema.Struct({
  now: Count,
  campaigns: Schema.Array(Schema.String),
  campaign: Schema.String,
  slots: Count,
  instance: Schema.String,
  health: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      state: Schema.Literals(["ok", "failed", "checking"]),
      says: Schema.String,
      at: Count,
    }),
  ),
  queue: Schema.NullOr(Figures),
  instances: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      seenAt: Count,
      host: Schema.String,
      startedAt: Count,
      connections: Count,
    }),
  ),
  counts: Schema.Array(Schema.String),
  buckets: Schema.Array(Schema.Struct({ at: Count, counts: Schema.Array(Count) })),
})

const whole = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

/** An action; `lease` and `deadline` as the view showed them, so that what has moved on is left alone. */
export const Action = Schema.Union([
  Schema.Struct({ type: Schema.Literals(["pause", "resume", "drain", "reopen"]) }),
  Schema.Struct({ type: Schema.Literal("call") }),
  Schema.Struct({ type: Schema.Literal("remove"), seq: whole }),
  Schema.Struct({
    type: Schema.Literal("end"),
    lease: Schema.String.check(Schema.isPattern(/^\d{1,15}$/)),
    deadline: whole,
  }),
])
export const Command = Schema.Struct({
  campaign: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(256))),
  action: Action,
})

const Trail = Schema.Struct({
  total: Count,
  lines: Schema.Array(
    Schema.Struct({
      n: Count,
      at: Count,
      who: Schema.String,
      action: Schema.String,
      target: Schema.String,
      result: Schema.String,
    }),
  ),
})

/** All of them need `Authorization: Bearer <Security.ConsoleToken>` and answer problem documents otherwise. */
const group = HttpApiGroup.make("Console").add(
  HttpApiEndpoint.get("view", "/console/api/view", { success: View }),
  HttpApiEndpoint.get("trail", "/console/api/trail", { success: Trail }),
  HttpApiEndpoint.post("act", "/console/api/actions", {
    payload: Command,
    success: Schema.Struct({ result: Schema.String, ticket: Schema.String }),
  }),
)

export const Api = HttpApi.make("voicegate console").add(group)
