/**
 * Pipecat Cloud, with Daily as its transport. A start makes a room and sends the agent into it; the page joins the same room with
 * `@pipecat-ai/client-js` and its Daily transport. Pipecat Cloud sends no webhooks: the page's leave and the audit tell that a call is
 * over.
 *
 * There are two keys: a public one, which can only start sessions, and a private one, which reads and ends them.
 */

import { Clock, DateTime, Effect, Redacted, Schema } from "effect"
import type { StartConfig } from "../../protocol/request.ts"
import type { Adapter, AdapterContext } from "../adapter.ts"
import type { WebSession } from "../model.ts"
import { type Call, LONGEST_START_MILLIS } from "../requests/transport.ts"
import {
  checkAgent,
  chosenIn,
  isNotFound,
  metadataOf,
  orUnknown,
  roomExpiry,
  SessionId,
  stateOf,
  vendorEndpoint,
} from "../shared/vendor.ts"
import type { VendorFailure } from "../shared/vendor-answer.ts"
import type { PipecatSettings } from "./settings.ts"

const Started = Schema.Struct({
  sessionId: SessionId,
  dailyRoom: Schema.NonEmptyString,
  dailyToken: Schema.NonEmptyString,
})
const Session = Schema.Struct({ endedAt: Schema.optionalKey(Schema.NullOr(Schema.String)) })
const Agent = Schema.Struct({
  activeSessionCount: Schema.Finite,
  autoScaling: Schema.Struct({
    maxReplicas: Schema.Finite,
    minReplicas: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  }),
})

/** An agent without instances in reserve starts cold. */
const coldStarts = ({ autoScaling }: typeof Agent.Type): ReadonlyArray<string> =>
  autoScaling.minReplicas === 0
    ? [
        "The agent keeps no instance in reserve (autoScaling.minReplicas is 0): a cold start may take 30 to 60 s, and the gate waits " +
          `${LONGEST_START_MILLIS / 1000} s for a start. The caller keeps the place meanwhile, and the start holds a slot. Set it to 1 or more.`,
      ]
    : []

/** Pipecat Cloud answers 429 where the pool of agents is at capacity. */
const isAtCapacity = ({ code, status }: VendorFailure): boolean => status === 429 || code === "PCC-AGENT-AT-CAPACITY"

export const pipecat = (
  { AgentId, PrivateKey, PublicKey }: PipecatSettings,
  { campaign, lifetimeSeconds, longestCallSeconds, send }: AdapterContext,
): Adapter => {
  const endpointOf = (key: Redacted.Redacted<string>) =>
    vendorEndpoint({
      vendor: "Pipecat Cloud",
      campaign,
      headers: { authorization: `Bearer ${Redacted.value(key)}` },
      secrets: [PrivateKey, PublicKey],
      isAtCapacity,
    })
  const starts = endpointOf(PublicKey)
  const sessions = endpointOf(PrivateKey)
  const agent = encodeURIComponent(AgentId)
  const ask = <A>(data: Schema.Decoder<A>, method: Call["method"], sessionId?: string) => {
    const path = `v1/agents/${agent}`
    return send(sessions, data, {
      kind: "read",
      method,
      path: sessionId === undefined ? path : `${path}/sessions/${encodeURIComponent(sessionId)}`,
      ...(sessionId === undefined ? {} : { shownPath: `${path}/sessions/:id` }),
    })
  }

  const mint = Effect.fnUntraced(function* (config: StartConfig, group: string) {
    const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
    const expiry = now + lifetimeSeconds
    const body = {
      createDailyRoom: true,
      transport: "daily",
      dailyRoomProperties: {
        exp: roomExpiry(expiry, { lifetimeSeconds, longestCallSeconds }, config.callSeconds),
        eject_at_room_exp: true,
      },
      dailyMeetingTokenProperties: { exp: expiry },
      body: {
        clientIdentifier: config.clientIdentifier,
        dynamicVariables: config.dynamicVariables,
        metadata: metadataOf(config),
      },
    }
    const start: Call = {
      kind: "start",
      timeoutMillis: LONGEST_START_MILLIS,
      method: "POST",
      path: `v1/public/${agent}/start`,
      body,
      fromCaller: chosenIn(config),
    }
    const { dailyRoom: url, dailyToken: token, sessionId } = yield* send(starts, Started, start, group)
    const expiresAt = DateTime.formatIso(DateTime.makeUnsafe(expiry * 1000))
    const session: WebSession = {
      sessionIds: [sessionId],
      credential: { shape: "url+token", platform: "pipecat", url, token, expiresAt },
    }
    return session
  })

  return {
    mint,
    startMillis: LONGEST_START_MILLIS,
    status: (id) =>
      ask(Session, "GET", id).pipe(
        Effect.map(({ endedAt }) => stateOf(id, typeof endedAt === "string")),
        orUnknown,
      ),
    end: ({ sessionIds: [id = ""] }) =>
      ask(Schema.Unknown, "DELETE", id).pipe(
        Effect.as(true),
        Effect.catchIf(isNotFound, () => Effect.succeed(false)),
      ),
    capacity: Effect.map(ask(Agent, "GET"), ({ activeSessionCount, autoScaling }) => ({
      limit: Math.floor(autoScaling.maxReplicas),
      inUse: Math.ceil(activeSessionCount),
    })),
    check: checkAgent(ask(Schema.Unknown, "GET"), {
      settings: Agent,
      breaks: (found) => [Effect.succeed(coldStarts(found))],
      group: "Pipecat",
      baseUrl: campaign.BaseUrl,
      agent: "AgentId",
      key: "PrivateKey",
      bounds: `a token joins the room of one session, again until it expires, ${lifetimeSeconds} s after it was made; a session has one agent`,
    }),
  }
}
