/**
 * Vapi. A start makes a web call of the assistant, which the page joins with `@vapi-ai/web`: `vapi.reconnect({ webCallUrl: credential.url,
 * ...credential.details })`. The key must be a private one: it also reads and ends calls.
 */

import { Effect, Option, Redacted, Schema } from "effect"
import type { Credential } from "../../protocol/credential.ts"
import type { StartConfig } from "../../protocol/request.ts"
import type { Adapter, AdapterContext } from "../adapter.ts"
import { AtCapacity, PlatformError } from "../errors.ts"
import type { Speech, WebSession } from "../model.ts"
import { malformed } from "../requests/answer.ts"
import type { Call, Endpoint } from "../requests/transport.ts"
import { endsUnreported, joinsTooLate, webhookElsewhere } from "../shared/broken-settings.ts"
import { secondsBetween, usedOf } from "../shared/call-use.ts"
import { CLOCK_DIFFERENCE_MILLIS, makeRecentCalls, PAGE_LIMIT } from "../shared/recent-calls.ts"
import {
  checkAgent,
  chosenIn,
  correlationIn,
  hint,
  isNotFound,
  maybe,
  metadataOf,
  millisOf,
  orUnknown,
  SessionId,
  saysConcurrency,
  startedBy,
  stateOf,
  vendorEndpoint,
  vendorsUrl,
} from "../shared/vendor.ts"
import type { VapiSettings } from "./settings.ts"
import { vapiAuthentication } from "./webhooks.ts"

/** Vapi's bounds of a call's length (s). */
const SHORTEST_CALL_SECONDS = 10
const LONGEST_CALL_SECONDS = 43_200
/** The longest time that Vapi waits for the caller of a web call (s); 15 when a call does not say. */
const LONGEST_JOIN_SECONDS = 60

/** The states in which a call is over: one that is not there, or could not be deleted, does not run either. */
const OVER: ReadonlySet<unknown> = new Set(["ended", "not-found", "deletion-failed"])

const Started = Schema.Struct({
  id: SessionId,
  webCallUrl: maybe(Schema.String),
  transport: maybe(Schema.Struct({ callUrl: maybe(Schema.String), callToken: maybe(Schema.String) })),
  artifactPlan: hint(Schema.Struct({ videoRecordingEnabled: maybe(Schema.Boolean) })),
  assistant: hint(Schema.Struct({ voice: maybe(Schema.Struct({ provider: maybe(Schema.String) })) })),
  subscriptionLimits: hint(
    Schema.Struct({ concurrencyBlocked: hint(Schema.Boolean), concurrencyLimit: hint(Schema.Finite) }),
  ),
})
/** What `reconnect` of Vapi's SDK reads besides the address, under its own names. */
const detailsOf = ({
  artifactPlan,
  assistant,
  id,
  transport,
}: typeof Started.Type): NonNullable<Credential["details"]> => {
  const { callToken } = transport ?? {}
  const { videoRecordingEnabled } = artifactPlan ?? {}
  const { provider } = assistant?.voice ?? {}
  return {
    id,
    ...(callToken ? { transport: { callToken } } : {}),
    ...(videoRecordingEnabled ? { artifactPlan: { videoRecordingEnabled } } : {}),
    ...(provider ? { assistant: { voice: { provider } } } : {}),
  }
}

const Assistant = Schema.Struct({
  server: maybe(Schema.Struct({ url: maybe(Schema.String) })),
  serverMessages: maybe(Schema.Array(Schema.String)),
})

const KnownCall = Schema.Struct({
  id: SessionId,
  status: maybe(Schema.String),
  createdAt: maybe(Schema.String),
  assistantOverrides: maybe(Schema.Struct({ metadata: maybe(Schema.Unknown) })),
  monitor: maybe(Schema.Struct({ controlUrl: maybe(Schema.String) })),
})
const correlationOf = ({ assistantOverrides }: typeof KnownCall.Type) => correlationIn(assistantOverrides?.metadata)

const Webhook = Schema.Struct({
  message: Schema.Struct({
    type: Schema.String,
    status: maybe(Schema.String),
    role: maybe(Schema.String),
    call: maybe(KnownCall),
    startedAt: hint(Schema.String),
    endedAt: hint(Schema.String),
    /** sent, and in no document of Vapi */
    durationSeconds: hint(Schema.Finite),
    /** in US dollars */
    cost: hint(Schema.Finite),
  }),
})
/** Who begins to speak or has stopped, of the message `speech-update`; undefined of any other. */
const speechIn = ({ role, status, type }: typeof Webhook.Type.message): Speech | undefined =>
  type === "speech-update" &&
  (role === "user" || role === "assistant") &&
  (status === "started" || status === "stopped")
    ? { side: role === "user" ? "caller" : "agent", speaks: status === "started" }
    : undefined
const decodeWebhook = Schema.decodeUnknownOption(Webhook)

export const vapi = (
  { ApiKey, AssistantId, WebhookSecret, WebhookSignatureHeader }: VapiSettings,
  { campaign, lifetimeSeconds, longestCallSeconds, send }: AdapterContext,
): Adapter => {
  const endpoint = vendorEndpoint({
    vendor: "Vapi",
    campaign,
    headers: { authorization: `Bearer ${Redacted.value(ApiKey)}` },
    secrets: [ApiKey, WebhookSecret],
    isAtCapacity: saysConcurrency,
  })
  /** Another host, which knows the call by its address and must not learn the key. An outage of that host says nothing about the API. */
  const controlEndpoint = ({ origin }: URL): Endpoint => ({
    ...endpoint,
    baseUrl: `${origin}/`,
    circuit: `${campaign.BaseUrl} control`,
    authorise: () => Effect.succeed({}),
  })
  const read = <A>(data: Schema.Decoder<A>, call: Omit<Call, "kind">) => send(endpoint, data, { kind: "read", ...call })
  const withinBounds = (seconds: number): number =>
    Math.min(Math.max(seconds, SHORTEST_CALL_SECONDS), LONGEST_CALL_SECONDS)
  const joinSeconds = Math.min(lifetimeSeconds, LONGEST_JOIN_SECONDS)

  /** the calls that the account may have, as the last start was told */
  let told = Number.POSITIVE_INFINITY

  const mint = Effect.fnUntraced(function* (config: StartConfig, group: string) {
    const body = {
      assistantId: AssistantId,
      assistantOverrides: {
        variableValues: config.dynamicVariables,
        metadata: metadataOf(config),
        maxDurationSeconds: withinBounds(config.callSeconds ?? longestCallSeconds),
        customerJoinTimeoutSeconds: joinSeconds,
        // the gate ends calls at the control address, and has no public key that would authenticate it there
        monitorPlan: { controlEnabled: true, controlAuthenticationEnabled: false },
      },
    }
    const start: Call = { kind: "start", method: "POST", path: "call/web", body, fromCaller: chosenIn(config) }
    const call = yield* send(endpoint, Started, start, group)
    const { concurrencyBlocked, concurrencyLimit } = call.subscriptionLimits ?? {}
    if (concurrencyLimit && concurrencyLimit >= 1) told = Math.floor(concurrencyLimit)
    if (concurrencyBlocked === true) {
      const message = "Vapi made the call and blocked it: every call of the account is running"
      return yield* new PlatformError({ reason: new AtCapacity({ message }) })
    }
    const url = call.webCallUrl ?? call.transport?.callUrl
    if (!url) return yield* malformed("start", "Vapi's answer has no address to join")
    const credential = { shape: "url", platform: "vapi", url, details: detailsOf(call) } as const
    const session: WebSession = { sessionIds: [call.id], credential }
    return session
  })

  const callOf = (id: string) =>
    read(KnownCall, { method: "GET", path: `call/${encodeURIComponent(id)}`, shownPath: "call/:id" })

  /** Vapi's list has no pages: after a full list, the next request asks for the calls up to the time of its oldest. */
  const recentCalls = makeRecentCalls(
    (_, upTo) => {
      const query = new URLSearchParams({
        assistantId: AssistantId,
        limit: String(PAGE_LIMIT),
        ...(upTo === undefined ? {} : { createdAtLe: upTo }),
      })
      return read(Schema.Array(KnownCall), { method: "GET", path: `call?${query}`, shownPath: "call" }).pipe(
        Effect.flatMap((items) => {
          if (items.length < PAGE_LIMIT) return Effect.succeed({ items })
          const oldest = items.at(-1)?.createdAt
          return oldest
            ? Effect.succeed({ items, next: oldest })
            : malformed("read", "Vapi's list does not say when a call was made")
        }),
      )
    },
    ({ createdAt }) => millisOf(createdAt),
  )
  const list = (correlationId: string, since: number) =>
    startedBy(recentCalls("", since - CLOCK_DIFFERENCE_MILLIS), correlationId, ({ assistantOverrides, id }) => ({
      id,
      metadata: assistantOverrides?.metadata,
    }))

  const end = ({ sessionIds: [id = ""] }: WebSession) =>
    callOf(id).pipe(
      Effect.flatMap(({ monitor, status }) => {
        if (OVER.has(status)) return Effect.succeed(true)
        const url = vendorsUrl(monitor?.controlUrl ?? "", campaign.BaseUrl, "vapi.ai")
        if (url === undefined) return Effect.succeed(false)
        const path = `${url.pathname.slice(1)}${url.search}`
        const hangUp: Call = { kind: "read", method: "POST", path, shownPath: "control", body: { type: "end-call" } }
        // the address opens the call until it is over, as the call's state shows
        return Effect.map(Effect.andThen(send(controlEndpoint(url), Schema.Unknown, hangUp), callOf(id)), (call) =>
          OVER.has(call.status),
        )
      }),
      Effect.catchIf(isNotFound, () => Effect.succeed(false)),
    )

  return {
    mint,
    list,
    limitsCalls: true,
    end,
    capacity: Effect.sync(() => ({ limit: told, inUse: 0, fromStarts: true as const })),
    status: (id) =>
      callOf(id).pipe(
        Effect.map(({ status }) => stateOf(id, OVER.has(status))),
        orUnknown,
      ),
    webhooks: {
      ...vapiAuthentication(Redacted.value(WebhookSecret), WebhookSignatureHeader),
      ended: (body) => {
        const message = Option.getOrUndefined(decodeWebhook(body))?.message
        if (message === undefined) return { _tag: "malformed" }
        const { call, status, type } = message
        if (!call) return { _tag: "ignored", because: "other_event" }
        if (correlationOf(call) === undefined) return { _tag: "ignored", because: "other_session" }
        const speech = speechIn(message)
        if (speech !== undefined) return { _tag: "spoke", session: [call.id], speech }
        const seconds = secondsBetween(message.startedAt, message.endedAt) ?? message.durationSeconds
        const isOver = type === "end-of-call-report" || (type === "status-update" && status === "ended")
        return isOver
          ? { _tag: "ended", sessions: [[call.id]], ...usedOf(seconds, message.cost) }
          : { _tag: "ignored", because: "other_event" }
      },
    },
    check: checkAgent(read(Schema.Unknown, { method: "GET", path: `assistant/${encodeURIComponent(AssistantId)}` }), {
      settings: Assistant,
      breaks: ({ server, serverMessages }) => [
        Effect.succeed([
          ...webhookElsewhere(server?.url, "vapi", "server.url"),
          ...endsUnreported(serverMessages, ["status-update", "end-of-call-report"], "serverMessages"),
          ...joinsTooLate("Vapi", LONGEST_JOIN_SECONDS, { lifetimeSeconds }),
        ]),
      ],
      group: "Vapi",
      baseUrl: campaign.BaseUrl,
      agent: "AssistantId",
      bounds: `an address is for one call and opens it until it is over; the call waits ${joinSeconds} s for its caller`,
    }),
  }
}
