/**
 * ElevenLabs Agents. A start signs an address for one conversation, which the page gives to `@elevenlabs/client` as `signedUrl`. The
 * address has the conversation's id and opens it once, within 15 minutes. The page passes dynamic variables itself: a signed address
 * carries none.
 *
 * The first id of a session has the time at which its address expires, because a conversation that nobody has opened is not in the
 * vendor's history: only afterwards does its absence prove that it will not begin.
 */

import { Clock, DateTime, Effect, Option, Redacted, Schema } from "effect"
import type { StartConfig } from "../../protocol/request.ts"
import type { Adapter, AdapterContext } from "../adapter.ts"
import type { WebSession } from "../model.ts"
import { malformed } from "../requests/answer.ts"
import type { Call } from "../requests/transport.ts"
import { endsUnreported, longerThanSlot } from "../shared/broken-settings.ts"
import { usedOf } from "../shared/call-use.ts"
import {
  checkAgent,
  hint,
  isNotFound,
  maybe,
  SessionId,
  saysConcurrency,
  startsNothing,
  stateOf,
  unknownState,
  vendorEndpoint,
} from "../shared/vendor.ts"
import type { ElevenLabsSettings } from "./settings.ts"
import { elevenLabsAuthentication } from "./webhooks.ts"

/** How long a signed address may be opened (s). */
const ADDRESS_SECONDS = 15 * 60

const Signed = Schema.Struct({ signed_url: Schema.NonEmptyString })
const Conversation = Schema.Struct({ status: Schema.String })
const Webhook = Schema.Struct({
  type: Schema.String,
  data: Schema.optionalKey(
    Schema.Struct({
      agent_id: Schema.optionalKey(Schema.String),
      conversation_id: Schema.optionalKey(Schema.NonEmptyString),
      metadata: hint(Schema.Struct({ call_duration_secs: Schema.Finite })),
    }),
  ),
})
const decodeWebhook = Schema.decodeUnknownOption(Webhook)

const OVER = new Set(["processing", "done", "failed"])
const ENDS = new Set(["post_call_transcription", "call_initiation_failure"])

/** How many conversations run now. */
const LiveCount = Schema.Struct({ count: Schema.Finite })
const Hooks = Schema.Struct({ post_call_webhook_id: maybe(Schema.String), events: maybe(Schema.Array(Schema.String)) })
const Workspace = Schema.Struct({ webhooks: maybe(Hooks) })

/** What an agent's own settings say of calls that are more than it takes, or longer. */
const Agent = Schema.Struct({
  conversation_config: maybe(
    Schema.Struct({ conversation: maybe(Schema.Struct({ max_duration_seconds: maybe(Schema.Finite) })) }),
  ),
  platform_settings: maybe(
    Schema.Struct({
      queueing_config: maybe(Schema.Struct({ enabled: maybe(Schema.Boolean) })),
      call_limits: maybe(Schema.Struct({ agent_concurrency_limit: maybe(Schema.Finite) })),
      workspace_overrides: maybe(Schema.Struct({ webhooks: maybe(Hooks) })),
    }),
  ),
})

/** Neither the agent nor its workspace sends a webhook when a conversation is over. */
const withoutWebhook = (hooks: typeof Hooks.Type | null | undefined): ReadonlyArray<string> =>
  hooks?.post_call_webhook_id
    ? endsUnreported(hooks.events, ["transcript"], "webhooks.events")
    : [
        "The workspace has no post-call webhook (webhooks.post_call_webhook_id): ends of calls are noticed minutes late. Add one that goes to " +
          "/api/webhook/elevenlabs of the gate.",
      ]

/** The most conversations that an agent takes at once; infinite without a limit of its own. */
const mostOf = ({ platform_settings }: typeof Agent.Type): number => {
  const most = platform_settings?.call_limits?.agent_concurrency_limit ?? -1
  return most < 0 ? Number.POSITIVE_INFINITY : Math.floor(most)
}

/** Which of them break a promise of the gate. */
const brokenBy = (
  agent: typeof Agent.Type,
  slots: number | undefined,
  context: Pick<AdapterContext, "longestCallSeconds">,
): ReadonlyArray<string> => {
  const { conversation_config, platform_settings } = agent
  const { queueing_config } = platform_settings ?? {}
  const most = mostOf(agent)
  return [
    ...(queueing_config?.enabled === true
      ? [
          "The agent's own queue is on (platform_settings.queueing_config.enabled): a caller whom ElevenLabs holds there counts as in call " +
            "and hears its hold tone. Switch it off, so that callers wait in the gate's queue alone.",
        ]
      : []),
    ...longerThanSlot(
      conversation_config?.conversation?.max_duration_seconds,
      context,
      "conversation_config.conversation.max_duration_seconds",
    ),
    ...(slots !== undefined && most < slots
      ? [
          `MaxConcurrency: The agent takes ${most} conversations at once (platform_settings.call_limits.agent_concurrency_limit), and the ` +
            `campaign has ${slots} slots.`,
        ]
      : []),
  ]
}

const isSessionId = Schema.is(SessionId)

/** The parts of a session's first id. */
const partsOf = (id: string) => {
  const at = id.lastIndexOf("@")
  return { conversation: id.slice(0, at), expiryMillis: Number(id.slice(at + 1)) * 1000 }
}

export const elevenlabs = (
  { AgentId, ApiKey, WebhookSecret }: ElevenLabsSettings,
  { campaign, longestCallSeconds, send }: AdapterContext,
): Adapter => {
  const endpoint = vendorEndpoint({
    vendor: "ElevenLabs",
    campaign,
    headers: { "xi-api-key": Redacted.value(ApiKey) },
    secrets: [ApiKey, WebhookSecret],
    isAtCapacity: saysConcurrency,
  })
  const read = <A>(data: Schema.Decoder<A>, call: Omit<Call, "kind">) => send(endpoint, data, { kind: "read", ...call })

  const mint = Effect.fnUntraced(function* (_: StartConfig, group: string) {
    const query = new URLSearchParams({ agent_id: AgentId, include_conversation_id: "true" })
    const path = `v1/convai/conversation/get-signed-url?${query}`
    const { signed_url: url } = yield* send(endpoint, Signed, { kind: "start", method: "GET", path }, group)
    const conversation = URL.parse(url)?.searchParams.get("conversation_id")
    if (!isSessionId(conversation))
      return yield* malformed("start", "the address that ElevenLabs signed has no conversation_id")
    const expiry = Math.ceil((yield* Clock.currentTimeMillis) / 1000) + ADDRESS_SECONDS
    const expiresAt = DateTime.formatIso(DateTime.makeUnsafe(expiry * 1000))
    const session: WebSession = {
      sessionIds: [`${conversation}@${expiry}`, conversation],
      credential: { shape: "url", platform: "elevenlabs", url, expiresAt },
    }
    return session
  })

  const status = (id: string) => {
    const { conversation, expiryMillis } = partsOf(id)
    const path = `v1/convai/conversations/${encodeURIComponent(conversation)}`
    return read(Conversation, { method: "GET", path, shownPath: "v1/convai/conversations/:id" }).pipe(
      Effect.map((found) => stateOf(conversation, OVER.has(found.status))),
      Effect.catchIf(isNotFound, () =>
        Effect.map(Clock.currentTimeMillis, (now) =>
          now >= expiryMillis ? stateOf(conversation, true, false) : unknownState,
        ),
      ),
    )
  }

  const agentCall = { method: "GET", path: `v1/convai/agents/${encodeURIComponent(AgentId)}` } as const
  const live = read(LiveCount, {
    method: "GET",
    path: `v1/convai/analytics/live-count?${new URLSearchParams({ agent_id: AgentId })}`,
    shownPath: "v1/convai/analytics/live-count",
  })
  /** The agent's own webhooks, where it has some, take the place of the workspace's. */
  const hooksOf = ({ platform_settings }: typeof Agent.Type) => {
    const own = platform_settings?.workspace_overrides?.webhooks
    return own?.post_call_webhook_id
      ? Effect.succeed(withoutWebhook(own))
      : Effect.map(read(Workspace, { method: "GET", path: "v1/convai/settings" }), ({ webhooks }) =>
          withoutWebhook(webhooks),
        )
  }

  return {
    mint: (config, group) => startsNothing(mint(config, group)),
    status,
    capacity: Effect.gen(function* () {
      return { limit: mostOf(yield* read(Agent, agentCall)), inUse: Math.ceil((yield* live).count) }
    }),
    webhooks: {
      ...elevenLabsAuthentication(Redacted.value(WebhookSecret)),
      ended: (body) => {
        const webhook = Option.getOrUndefined(decodeWebhook(body))
        if (webhook === undefined) return { _tag: "malformed" }
        const { agent_id, conversation_id, metadata } = webhook.data ?? {}
        if (!ENDS.has(webhook.type) || conversation_id === undefined) return { _tag: "ignored", because: "other_event" }
        return agent_id === AgentId
          ? { _tag: "ended", sessions: [[conversation_id]], ...usedOf(metadata?.call_duration_secs) }
          : { _tag: "ignored", because: "other_session" }
      },
    },
    check: checkAgent(read(Schema.Unknown, agentCall), {
      settings: Agent,
      breaks: (found) => [
        Effect.succeed(brokenBy(found, campaign.MaxConcurrency, { longestCallSeconds })),
        hooksOf(found),
      ],
      group: "ElevenLabs",
      baseUrl: campaign.BaseUrl,
      agent: "AgentId",
      bounds: `an address opens one conversation, once, within ${ADDRESS_SECONDS / 60} minutes, which may be longer than the start window`,
    }),
  }
}
