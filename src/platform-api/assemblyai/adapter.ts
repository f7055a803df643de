/**
 * AssemblyAI's Voice Agent. A start makes a token that opens one session, once; the page adds it to the address in `details`. The token
 * limits the session's length. AssemblyAI ends no session on request.
 *
 * A session's id is AssemblyAI's, and only the page learns it: a session cannot be given a name or metadata of the gate's. So its webhook
 * `session.completed` cannot say which slot is free. The end is known from the page's report, or from AssemblyAI's list of sessions
 * (`platform-api/shared/status-by-time.ts`).
 */

import { Clock, DateTime, Effect, Redacted, Schema } from "effect"
import type { StartConfig } from "../../protocol/request.ts"
import type { Adapter, AdapterContext } from "../adapter.ts"
import type { WebSession } from "../model.ts"
import type { Call } from "../requests/transport.ts"
import { expiryOf, newSessionId } from "../shared/own-session.ts"
import { makeRecentCalls, PAGE_LIMIT } from "../shared/recent-calls.ts"
import { makeStatusByTime } from "../shared/status-by-time.ts"
import { checkAgent, maybe, millisOf, saysConcurrency, startsNothing, vendorEndpoint } from "../shared/vendor.ts"
import type { AssemblyAISettings } from "./settings.ts"

/** AssemblyAI's bounds of a session's length (s). */
const SHORTEST_SESSION_SECONDS = 60
const LONGEST_SESSION_SECONDS = 3 * 60 * 60

const Token = Schema.Struct({ token: Schema.NonEmptyString })

const Sessions = Schema.Struct({
  sessions: Schema.Array(Schema.Struct({ status: maybe(Schema.String), created_at: maybe(Schema.String) })),
  has_more: maybe(Schema.Boolean),
  response_metadata: maybe(Schema.Struct({ next_cursor: maybe(Schema.String) })),
})
/** States of a session that is over; in any other it may run. */
const OVER: ReadonlySet<unknown> = new Set(["completed", "failed", "error", "ended"])

export const assemblyai = (
  { AgentId, ApiKey, BaseUrl }: AssemblyAISettings,
  { campaign, lifetimeSeconds, longestCallSeconds, send }: AdapterContext,
): Adapter => {
  const endpoint = vendorEndpoint({
    vendor: "AssemblyAI",
    campaign,
    headers: { authorization: `Bearer ${Redacted.value(ApiKey)}` },
    secrets: [ApiKey],
    isAtCapacity: saysConcurrency,
  })
  const withinBounds = (seconds: number): number =>
    Math.min(Math.max(seconds, SHORTEST_SESSION_SECONDS), LONGEST_SESSION_SECONDS)
  const longest = withinBounds(longestCallSeconds)
  const grant = (kind: Call["kind"], seconds: number, group?: string, most = longest) => {
    const query = new URLSearchParams({ expires_in_seconds: `${seconds}`, max_session_duration_seconds: `${most}` })
    return send(endpoint, Token, { kind, method: "GET", path: `v1/token?${query}`, shownPath: "v1/token" }, group)
  }

  const mint = Effect.fnUntraced(function* ({ callSeconds = longestCallSeconds }: StartConfig, group: string) {
    const expiry = Math.floor((yield* Clock.currentTimeMillis) / 1000) + lifetimeSeconds
    const { token } = yield* startsNothing(grant("start", lifetimeSeconds, group, withinBounds(callSeconds)))
    const session: WebSession = {
      sessionIds: [newSessionId(expiry)],
      credential: {
        shape: "single-use-token",
        platform: "assemblyai",
        token,
        expiresAt: DateTime.formatIso(DateTime.makeUnsafe(expiry * 1000)),
        details: { url: `${BaseUrl.replace(/^http/, "ws")}v1/ws`, agentId: AgentId },
      },
    }
    return session
  })

  const recentSessions = makeRecentCalls(
    (_, cursor) => {
      const query = new URLSearchParams({
        agent_id: AgentId,
        limit: String(PAGE_LIMIT),
        ...(cursor === undefined ? {} : { cursor }),
      })
      const page: Call = { kind: "read", method: "GET", path: `v1/sessions?${query}`, shownPath: "v1/sessions" }
      return Effect.map(send(endpoint, Sessions, page), ({ has_more, response_metadata, sessions }) => ({
        items: sessions,
        next: has_more === false ? undefined : (response_metadata?.next_cursor ?? undefined),
      }))
    },
    ({ created_at }) => millisOf(created_at),
  )

  return {
    mint,
    limitsCalls: true,
    shortestCallSeconds: SHORTEST_SESSION_SECONDS,
    status: makeStatusByTime(recentSessions, ({ created_at, status }) => ({
      startedAt: millisOf(created_at),
      isOver: OVER.has(status),
    })),
    pageEnds: ({ sessionIds: [id = ""] }) => expiryOf(id) ?? 0,
    check: checkAgent(grant("read", 1), {
      group: "AssemblyAI",
      baseUrl: campaign.BaseUrl,
      agent: "BaseUrl",
      may: "make tokens",
      bounds: `a token opens one session, once, within ${lifetimeSeconds} s; the session ends after ${longest} s`,
    }),
  }
}
