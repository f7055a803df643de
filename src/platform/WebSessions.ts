/**
 * Web sessions from their start to their end. A user's running sessions never exceed the user's concurrency; a session is
 * opened once, by its token, within five minutes, or it expires; each ends exactly once, and session-ended is sent then.
 */
import { createHash, randomBytes, randomUUID } from "node:crypto"
import { Clock, Context, Effect, FiberMap, Layer, Redacted, Schema } from "effect"
import type { Business, User, WebCampaign } from "./Accounts.ts"
import { sameDigest } from "./ApiKeys.ts"
import { Webhooks } from "./Webhooks.ts"

/** How long a session's token may be used, in milliseconds. */
export const TOKEN_LIFETIME_MILLIS = 5 * 60_000
/** Ended sessions that are still known to the history. */
const KEPT_ENDED = 1_000

/** Statuses of the wire that this platform uses: handed to its server, and never opened. */
export const STATUS = { ProcessedBackend: 3, Expired: 6 } as const

/** One session. Times in milliseconds since 1970. */
export interface WebSession {
  readonly webSessionId: string
  readonly conversationSessionId: string
  readonly userId: string
  readonly businessId: string
  readonly webCampaignId: string
  readonly regionId: string
  readonly clientIdentifier: string | null
  readonly status: (typeof STATUS)[keyof typeof STATUS]
  readonly createdAt: number
  readonly joinedAt: number | null
  readonly endedAt: number | null
}

export interface NewSession {
  readonly user: User
  readonly business: Business
  readonly campaign: WebCampaign
  readonly regionId: string
  readonly clientIdentifier: string | null
}

/** As many sessions of the user run as its concurrency allows. */
export class ConcurrencyLimitReached extends Schema.TaggedError<ConcurrencyLimitReached>()("ConcurrencyLimitReached", {
  limit: Schema.Int,
}) {}

/** The token opens nothing: wrong, used, or its session is over. */
export class TokenRefused extends Schema.TaggedError<TokenRefused>()("TokenRefused", {}) {}

export class WebSessions extends Context.Service<
  WebSessions,
  {
    /** A new session and the token that opens its WebSocket once. */
    readonly initiate: (
      wanted: NewSession,
    ) => Effect.Effect<
      { readonly session: WebSession; readonly token: Redacted.Redacted<string> },
      ConcurrencyLimitReached
    >
    /** Uses up the token of a session. */
    readonly join: (webSessionId: string, token: string) => Effect.Effect<WebSession, TokenRefused>
    /** Ends a session and tells its campaign; does nothing for one that ended already. */
    readonly end: (webSessionId: string) => Effect.Effect<void>
    /** A session of a business, running or ended, while it is remembered. */
    readonly find: (businessId: string, webSessionId: string) => Effect.Effect<WebSession | undefined>
    /** How many sessions of a user run. */
    readonly running: (userId: string) => Effect.Effect<number>
  }
>()("voicegate/platform/WebSessions") {}

interface Entry {
  session: WebSession
  /** undefined once used */
  tokenDigest: string | undefined
  readonly campaign: WebCampaign
}

const digest = (token: string): string => createHash("sha256").update(token).digest("hex")

/** Everything in the process. */
export const layerMemory: Layer.Layer<WebSessions, never, Webhooks> = Layer.effect(
  WebSessions,
  Effect.gen(function* () {
    const webhooks = yield* Webhooks
    const expiries = yield* FiberMap.make<string>()
    const running = new Map<string, Entry>()
    const ended = new Map<string, WebSession>()

    const countOf = (userId: string): number =>
      [...running.values()].filter(({ session }) => session.userId === userId).length

    const finish = Effect.fnUntraced(function* (webSessionId: string, status: WebSession["status"]) {
      const now = yield* Clock.currentTimeMillis
      const entry = running.get(webSessionId)
      if (entry === undefined) return
      // Opened at the very moment of its expiry: it was opened.
      if (status === STATUS.Expired && entry.tokenDigest === undefined) return
      running.delete(webSessionId)
      ended.set(webSessionId, { ...entry.session, status, endedAt: now })
      const [oldest] = ended.keys()
      if (ended.size > KEPT_ENDED && oldest !== undefined) ended.delete(oldest)
      const { conversationSessionId } = entry.session
      if (entry.campaign.sessionEnded === undefined) return
      const body = { ConversationSessionId: conversationSessionId, WebSessionId: webSessionId }
      yield* webhooks.send(entry.campaign.sessionEnded, JSON.stringify(body))
    }, Effect.uninterruptible)

    const initiate = Effect.fnUntraced(function* (wanted: NewSession) {
      const now = yield* Clock.currentTimeMillis
      const limit = wanted.user.callConcurrency
      if (countOf(wanted.user.id) >= limit) return yield* new ConcurrencyLimitReached({ limit })
      const token = randomBytes(32).toString("base64url")
      const session: WebSession = {
        webSessionId: randomUUID(),
        conversationSessionId: randomUUID(),
        userId: wanted.user.id,
        businessId: wanted.business.id,
        webCampaignId: wanted.campaign.id,
        regionId: wanted.regionId,
        clientIdentifier: wanted.clientIdentifier,
        status: STATUS.ProcessedBackend,
        createdAt: now,
        joinedAt: null,
        endedAt: null,
      }
      running.set(session.webSessionId, { session, tokenDigest: digest(token), campaign: wanted.campaign })
      const expire = Effect.delay(finish(session.webSessionId, STATUS.Expired), TOKEN_LIFETIME_MILLIS)
      yield* FiberMap.run(expiries, session.webSessionId, expire)
      return { session, token: Redacted.make(token) }
    }, Effect.uninterruptible)

    const join = Effect.fnUntraced(function* (webSessionId: string, token: string) {
      const now = yield* Clock.currentTimeMillis
      const entry = running.get(webSessionId)
      if (entry?.tokenDigest === undefined || !sameDigest(entry.tokenDigest, digest(token))) {
        return yield* new TokenRefused()
      }
      entry.tokenDigest = undefined
      entry.session = { ...entry.session, joinedAt: now }
      yield* FiberMap.remove(expiries, webSessionId)
      return entry.session
    })

    const end = Effect.fnUntraced(function* (webSessionId: string) {
      yield* FiberMap.remove(expiries, webSessionId)
      yield* finish(webSessionId, STATUS.ProcessedBackend)
    })

    const find = (businessId: string, webSessionId: string) =>
      Effect.sync(() => {
        const session = running.get(webSessionId)?.session ?? ended.get(webSessionId)
        return session?.businessId === businessId ? session : undefined
      })

    return WebSessions.of({ initiate, join, end, find, running: (userId) => Effect.sync(() => countOf(userId)) })
  }),
)
