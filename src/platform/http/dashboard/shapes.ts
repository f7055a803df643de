/**
 * The schemas of the dashboard's API, which run in the browser too. Times are milliseconds since 1970. No answer contains a secret,
 * except that of a key at its creation.
 */
import { Effect, Schema } from "effect"
import { MAX_CALL_MINUTES } from "../../defaults.ts"
import { NameText, Text } from "../../text.ts"

const Time = Schema.Int
const Id = Text.check(Schema.isBetweenLength(1, 256))
const Name = NameText.check(Schema.isBetweenLength(1, 256))

/** The signed-in user. */
export const Account = Schema.Struct({ id: Schema.String, name: Schema.String, email: Schema.String })
export type Account = typeof Account.Type

export const Credentials = Schema.Struct({
  email: Text.check(Schema.isBetweenLength(1, 320)),
  password: Schema.String.check(Schema.isBetweenLength(1, 256)),
})

export const PasswordChange = Schema.Struct({
  current: Schema.String.check(Schema.isBetweenLength(1, 256)),
  next: Schema.String.check(Schema.isBetweenLength(1, 256)),
})

export const SignInEntry = Schema.Struct({
  id: Schema.String,
  /** the client's address at sign-in; empty when unknown */
  address: Schema.String,
  /** the browser's `User-Agent`; may be empty */
  userAgent: Schema.String,
  createdAt: Time,
  /** precise to a minute */
  lastUsedAt: Time,
  /** whether it is the session of this request */
  current: Schema.Boolean,
})
export type SignInEntry = typeof SignInEntry.Type

export const Ended = Schema.Struct({ ended: Schema.Int })

/** What a key started on each of the last 30 days in UTC, the oldest first; `day` is the start of the day. */
export const KeyUsage = Schema.Array(Schema.Struct({ day: Time, sessions: Schema.Int, calls: Schema.Int }))
export type KeyUsage = typeof KeyUsage.Type

/** The session-ended webhook. Header values and the signing secret are never returned. */
export const Webhook = Schema.Struct({
  url: Schema.String,
  headerNames: Schema.Array(Schema.String),
  signed: Schema.Boolean,
})
export type Webhook = typeof Webhook.Type

/** `null` as the value of a header, and `keep` for the signing secret, keep the stored value. */
export const WebhookInput = Schema.Struct({
  url: Text.check(Schema.isBetweenLength(1, 2_048)),
  headers: Schema.Array(
    Schema.Struct({
      name: Text.check(Schema.isBetweenLength(1, 256)),
      value: Schema.NullOr(Schema.String.check(Schema.isMaxLength(4_096))),
    }),
  ).check(Schema.isMaxLength(32)),
  signing: Schema.Union([
    Schema.Struct({ type: Schema.Literals(["none", "keep"]) }),
    /** `whsec_` and base64 (Standard Webhooks) */
    Schema.Struct({ type: Schema.Literal("set"), secret: Schema.String.check(Schema.isMaxLength(256)) }),
  ]),
})
export type WebhookInput = typeof WebhookInput.Type

export const Campaign = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  webhook: Schema.NullOr(Webhook),
  maxCallMinutes: Schema.Int,
  createdAt: Time,
})
export type Campaign = typeof Campaign.Type

export const CampaignInput = Schema.Struct({
  name: Name,
  /** none by default */
  webhook: Schema.NullOr(WebhookInput).pipe(Schema.withDecodingDefaultKey(Effect.succeed(null))),
  /** the maximum length of a call, in minutes; by default unchanged, or the platform's default for a new campaign */
  maxCallMinutes: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_CALL_MINUTES }))),
})
export type CampaignInput = typeof CampaignInput.Type

export const Business = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  disabled: Schema.Boolean,
  createdAt: Time,
  campaigns: Schema.Array(Campaign),
})
export type Business = typeof Business.Type

export const BusinessInput = Schema.Struct({ name: Name })

export const Region = Schema.Struct({ id: Schema.String, name: Schema.String })
export type Region = typeof Region.Type

export const Kind = Schema.Literals(["web", "call"])
export type Kind = typeof Kind.Type

export const Conversation = Schema.Struct({
  id: Schema.String,
  businessId: Schema.String,
  kind: Kind,
  clientIdentifier: Schema.NullOr(Schema.String),
  startedAt: Time,
  /** null while it runs */
  endedAt: Schema.NullOr(Time),
})
export type Conversation = typeof Conversation.Type

const Role = Schema.Literals(["agent", "caller"])

/** A conversation in a list; of one that a search has found in what was said, what is around it. */
export const ListedConversation = Schema.Struct({
  ...Conversation.fields,
  found: Schema.optionalKey(
    Schema.Struct({ role: Role, at: Time, before: Schema.String, text: Schema.String, after: Schema.String }),
  ),
})
export type ListedConversation = typeof ListedConversation.Type

export const Turn = Schema.Struct({ role: Role, text: Schema.String, at: Time })

export const Transcript = Schema.Struct({ ...Conversation.fields, turns: Schema.Array(Turn) })
export type Transcript = typeof Transcript.Type

/** A session or call that counts against the account's concurrency now. */
export const LiveSession = Schema.Struct({
  id: Schema.String,
  kind: Kind,
  conversationId: Schema.String,
  businessId: Schema.String,
  /** null for a telephone call */
  campaignId: Schema.NullOr(Schema.String),
  regionId: Schema.String,
  clientIdentifier: Schema.NullOr(Schema.String),
  /** a web session is `waiting` until its WebSocket is opened; the last three are states of a call */
  state: Schema.Literals(["waiting", "talking", "queued", "ringing", "active"]),
  createdAt: Time,
  /** when it was joined or answered */
  joinedAt: Schema.NullOr(Time),
})
export type LiveSession = typeof LiveSession.Type

export const Live = Schema.Struct({
  /** the platform's clock at this answer */
  asOf: Time,
  /** the account's limit of concurrent calls */
  limit: Schema.Int,
  running: Schema.Int,
  sessions: Schema.Array(LiveSession),
})
export type Live = typeof Live.Type

export const DeliveryState = Schema.Literals(["pending", "delivered", "given_up"])
export type DeliveryState = typeof DeliveryState.Type

/** One message of the outbox; every attempt has this id as `webhook-id`. */
export const Delivery = Schema.Struct({
  id: Schema.String,
  businessId: Schema.String,
  campaignId: Schema.String,
  sessionId: Schema.String,
  state: DeliveryState,
  attempts: Schema.Int,
  /** null when no attempt is scheduled */
  nextAttemptAt: Schema.NullOr(Time),
  /** the outcome of the last attempt, such as `HTTP 503`; null before the first */
  lastOutcome: Schema.NullOr(Schema.String),
  createdAt: Time,
  settledAt: Schema.NullOr(Time),
})
export type Delivery = typeof Delivery.Type

/** One attempt at a delivery; values of secrets are masked. */
export const DeliveryAttempt = Schema.Struct({
  number: Schema.Int,
  at: Time,
  durationMillis: Schema.Int,
  url: Schema.String,
  headers: Schema.Array(Schema.Tuple([Schema.String, Schema.String])),
  /** null when there was no answer */
  status: Schema.NullOr(Schema.Int),
  /** why there was no answer */
  error: Schema.NullOr(Schema.String),
  /** the first kilobytes of the answer's body */
  answer: Schema.NullOr(Schema.String),
  /** whether the body was longer */
  truncated: Schema.Boolean,
})
export type DeliveryAttempt = typeof DeliveryAttempt.Type

/** A message with its payload and its last attempts, the newest first. */
export const DeliveryDetail = Schema.Struct({
  ...Delivery.fields,
  /** JSON */
  body: Schema.String,
  log: Schema.Array(DeliveryAttempt),
})
export type DeliveryDetail = typeof DeliveryDetail.Type

/** What is first to be seen: today's conversations, those of the last 24 hours, and whether webhooks arrive. */
export const Overview = Schema.Struct({
  /** the platform's clock at this answer */
  asOf: Time,
  /** conversations that began since the given time, and how long they lasted in total, in seconds */
  today: Schema.Struct({ count: Schema.Int, seconds: Schema.Int }),
  /** how many began in each of the last 24 hours, the oldest hour first */
  hours: Schema.Array(Schema.Int),
  webhooks: Schema.Struct({
    /** null without any */
    last: Schema.NullOr(Delivery),
    /** given up, of those of the last 24 hours */
    failed: Schema.Int,
    /** waiting for another attempt, however old */
    retrying: Schema.Int,
  }),
})
export type Overview = typeof Overview.Type

/** Which failed messages to send again: those created at or after `since`, of one business or of all. */
export const Resend = Schema.Struct({ since: Time, businessId: Schema.optionalKey(Id) })

export const Resent = Schema.Struct({ resent: Schema.Int })

/** What the platform has seen of a gate that is being set up. */
export const SetupCheck = Schema.Struct({
  /** the platform's clock at this answer */
  asOf: Time,
  /** the first and the last request with the key; null before the first */
  firstRequestAt: Schema.NullOr(Time),
  lastRequestAt: Schema.NullOr(Time),
  /** when the campaign's first webhook was delivered; null before */
  firstDeliveryAt: Schema.NullOr(Time),
  /** the campaign's newest webhook message */
  lastDelivery: Schema.NullOr(
    Schema.Struct({ state: DeliveryState, outcome: Schema.NullOr(Schema.String), createdAt: Time }),
  ),
})
export type SetupCheck = typeof SetupCheck.Type

/** What an entry of the audit log is about. */
export const AuditSubject = Schema.Literals(["api_key", "business", "web_campaign", "webhooks", "user"])
export type AuditSubject = typeof AuditSubject.Type

export const AuditEntry = Schema.Struct({
  id: Schema.String,
  /** such as `api_key.created` */
  action: Schema.String,
  subjectId: Schema.String,
  /** a description for people */
  detail: Schema.String,
  at: Time,
})
export type AuditEntry = typeof AuditEntry.Type

/** A page of a list, newest first; a cursor is null at the end of the list. */
export const page = <S extends Schema.Constraint>(item: S) =>
  Schema.Struct({
    items: Schema.Array(item),
    nextCursor: Schema.NullOr(Schema.String),
    previousCursor: Schema.NullOr(Schema.String),
  })

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | null
  readonly previousCursor: string | null
}

/** Selects a page, by at most one cursor of the list's last answer. */
export const pageQuery = {
  limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 }))),
  next: Schema.optionalKey(Text.check(Schema.isMaxLength(1_024))),
  previous: Schema.optionalKey(Text.check(Schema.isMaxLength(1_024))),
}
