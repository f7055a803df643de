/**
 * AssemblyAI's Voice Agent. A start makes a token that opens one session, once; the page adds it to the address in `details`. The token
 * limits the session's length. AssemblyAI reports no ends and ends no session on request: the slot is freed by the page's report, or after
 * the maximum length of a call.
 */
import { Clock, DateTime, Effect, Redacted, Schema } from "effect"
import type { StartConfig } from "../Session.ts"
import type { AssemblyAISettings } from "../settings/groups/vendors.ts"
import type { Adapter, AdapterContext } from "./adapter.ts"
import type { WebSession } from "./model.ts"
import { expiryOf, newSessionId } from "./own-session.ts"
import type { Call } from "./transport.ts"
import { checkAgent, saysConcurrency, startsNothing, vendorEndpoint } from "./vendor.ts"

/** AssemblyAI's bounds of a session's length (s). */
const SHORTEST_SESSION_SECONDS = 60
const LONGEST_SESSION_SECONDS = 3 * 60 * 60

const Token = Schema.Struct({ token: Schema.NonEmptyString })

export const assemblyai = (
  { AgentId, ApiKey, BaseUrl }: typeof AssemblyAISettings.Type,
  { campaign, lifetimeSeconds, longestCallSeconds, send }: AdapterContext,
): Adapter => {
  const endpoint = vendorEndpoint({
    vendor: "AssemblyAI",
    campaign,
    headers: { authorization: `Bearer ${Redacted.value(ApiKey)}` },
    secrets: [ApiKey],
    isAtCapacity: saysConcurrency,
  })
  const longest = Math.min(Math.max(longestCallSeconds, SHORTEST_SESSION_SECONDS), LONGEST_SESSION_SECONDS)
  const grant = (kind: Call["kind"], seconds: number, group?: string) => {
    const query = new URLSearchParams({ expires_in_seconds: `${seconds}`, max_session_duration_seconds: `${longest}` })
    return send(endpoint, Token, { kind, method: "GET", path: `v1/token?${query}`, shownPath: "v1/token" }, group)
  }

  const mint = Effect.fnUntraced(function* (_: StartConfig, group: string) {
    const expiry = Math.floor((yield* Clock.currentTimeMillis) / 1000) + lifetimeSeconds
    const { token } = yield* startsNothing(grant("start", lifetimeSeconds, group))
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

  return {
    mint,
    pageEnds: ({ sessionIds: [id = ""] }) => expiryOf(id) ?? 0,
    check: checkAgent(grant("read", 1), {
      group: "AssemblyAI",
      agent: "BaseUrl",
      may: "make tokens",
      bounds: `a token opens one session, once, within ${lifetimeSeconds} s; the session ends after ${longest} s`,
    }),
  }
}
