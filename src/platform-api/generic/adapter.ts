/**
 * A vendor without an adapter of its own, described by settings: one request starts a session and returns an address, a token or both. A
 * session's state and end, and webhooks, are used as far as the settings describe them.
 */

import { Clock, DateTime, Effect, Redacted, Schema } from "effect"
import type { Credential } from "../../protocol/credential.ts"
import type { StartConfig } from "../../protocol/request.ts"
import { secretParts } from "../../settings/showing/masking.ts"
import type { Adapter, AdapterContext, Webhooks } from "../adapter.ts"
import { PlatformError, RequestRefused } from "../errors.ts"
import type { WebSession } from "../model.ts"
import { malformed } from "../requests/answer.ts"
import type { Call } from "../requests/transport.ts"
import { newSessionId } from "../shared/own-session.ts"
import {
  chosenIn,
  isNotFound,
  orUnknown,
  SessionId,
  saysConcurrency,
  startsNothing,
  stateOf,
  unknownState,
  vendorEndpoint,
} from "../shared/vendor.ts"
import type { GenericSettings } from "./settings.ts"
import { filled, isElsewhere, pathOf, textAt } from "./templates.ts"
import { genericAuthentication } from "./webhooks.ts"

const isSessionId = Schema.is(SessionId)

const headersOf = (lines: GenericSettings["Headers"]) =>
  Object.fromEntries(
    lines.map((line) => {
      const [name = "", ...value] = Redacted.value(line).split(":")
      return [name.trim().toLowerCase(), value.join(":").trim()]
    }),
  )

const webhooksOf = (settings: GenericSettings, secret: string): Webhooks => ({
  ...genericAuthentication(settings, secret),
  ended: (body) => {
    const { WebhookEndEvents, WebhookEventField, WebhookIdField } = settings
    if (typeof body !== "object" || body === null) return { _tag: "malformed" }
    const event = WebhookEventField === undefined ? undefined : textAt(body, WebhookEventField)
    if (WebhookEventField !== undefined && event === undefined) return { _tag: "malformed" }
    if (event !== undefined && !WebhookEndEvents.includes(event)) return { _tag: "ignored", because: "other_event" }
    const id = textAt(body, WebhookIdField)
    return isSessionId(id) ? { _tag: "ended", sessions: [[id]] } : { _tag: "malformed" }
  },
})

export const generic = (
  settings: GenericSettings,
  { campaign, lifetimeSeconds, longestCallSeconds, send }: AdapterContext,
): Adapter => {
  const { AgentId, AtCapacity, EndPath, OverStatuses, StartBody, StatusField, StatusPath, WebhookSecret } = settings
  const startBody = StartBody && Redacted.value(StartBody)
  const endpoint = vendorEndpoint({
    vendor: "the vendor",
    campaign,
    headers: headersOf(settings.Headers),
    // a vendor may echo the key without the words before it
    secrets: [
      ...settings.Headers.flatMap((line) => {
        const text = Redacted.value(line)
        return [text, ...text.split(/[:\s]+/).filter((part) => part.length >= 8)]
      }),
      ...secretParts(startBody ?? ""),
    ].map((part) => Redacted.make(part)),
    isAtCapacity: (failure) =>
      AtCapacity === undefined ? saysConcurrency(failure) : failure.status >= 400 && failure.text.includes(AtCapacity),
  })
  const limits = { agent: AgentId, lifetimeSeconds, longestCallSeconds }
  const takesLimit = `${settings.StartPath}${startBody}`.includes("{{longestCallSeconds}}")
  const isBounded = `${settings.StartPath}${startBody}`.includes("{{lifetimeSeconds}}")

  const credentialOf = (answer: unknown, expiresAt: string): Credential | undefined => {
    const { SingleUse, TokenField, UrlField } = settings
    const url = UrlField && textAt(answer, UrlField)
    const token = TokenField && textAt(answer, TokenField)
    const common = { platform: "generic", ...(isBounded ? { expiresAt } : {}) }
    if (UrlField && TokenField) return url && token ? { shape: "url+token", ...common, url, token } : undefined
    if (url) return { shape: "url", ...common, url }
    return token ? { shape: SingleUse ? "single-use-token" : "token", ...common, token } : undefined
  }

  const expiryOf = (credential: Credential | undefined): number =>
    credential !== undefined && "expiresAt" in credential ? Date.parse(credential.expiresAt ?? "") || 0 : 0

  const mint = Effect.fnUntraced(function* (config: StartConfig, group: string) {
    const now = yield* Clock.currentTimeMillis
    const { clientIdentifier, correlationId = clientIdentifier, dynamicVariables, metadata } = config
    const values = {
      ...limits,
      longestCallSeconds: config.callSeconds ?? longestCallSeconds,
      clientIdentifier,
      correlationId,
      metadata,
      variables: dynamicVariables,
    }
    const path = pathOf(settings.StartPath, values)
    if (isElsewhere(settings.StartPath, path)) {
      const message = "the client identifier cannot be in the path of the start"
      return yield* new PlatformError({ reason: new RequestRefused({ status: 400, code: "", message }) })
    }
    const start: Call = {
      kind: "start",
      method: ({ post: "POST", get: "GET", put: "PUT" } as const)[settings.StartMethod],
      path,
      fromCaller: chosenIn(config),
      ...(startBody === undefined ? {} : { body: filled(JSON.parse(startBody), values) }),
    }
    const asked = send(endpoint, Schema.Unknown, start, group)
    const { SessionIdField } = settings
    // a start that names no session only makes a credential
    const answer = yield* SessionIdField === undefined ? startsNothing(asked) : asked
    const id =
      SessionIdField === undefined
        ? newSessionId(Math.floor(now / 1000) + lifetimeSeconds)
        : textAt(answer, SessionIdField)
    const expiresAt = DateTime.formatIso(DateTime.makeUnsafe(now + lifetimeSeconds * 1000))
    const credential = credentialOf(answer, expiresAt)
    if (!isSessionId(id) || credential === undefined) {
      return yield* malformed("start", "the vendor's answer has nothing at SessionIdField, UrlField or TokenField")
    }
    const session: WebSession = { sessionIds: [id], credential }
    return session
  })

  const ask = (template: string, sessionId: string, method: Call["method"]) =>
    send(endpoint, Schema.Unknown, {
      kind: "read",
      method,
      path: pathOf(template, { ...limits, sessionId }),
      shownPath: pathOf(template, { ...limits, sessionId: ":id" }),
    })

  return {
    mint,
    ...(StatusPath === undefined
      ? {}
      : {
          status: (id: string) =>
            ask(StatusPath, id, "GET").pipe(
              Effect.map((answer) => {
                const status = textAt(answer, StatusField)
                return status === undefined ? unknownState : stateOf(id, OverStatuses.includes(status))
              }),
              orUnknown,
            ),
        }),
    ...(takesLimit ? { limitsCalls: true } : {}),
    ...(EndPath === undefined
      ? {}
      : {
          end: ({ sessionIds: [id = ""] }: WebSession) =>
            ask(EndPath, id, "POST").pipe(
              Effect.as(true),
              Effect.catchIf(isNotFound, () => Effect.succeed(false)),
            ),
        }),
    // nobody else can tell that a call is over; a credential without a known end could open a call whose slot is free
    ...(WebhookSecret === undefined && StatusPath === undefined && EndPath === undefined && isBounded
      ? { pageEnds: ({ credential }: WebSession) => expiryOf(credential) }
      : {}),
    ...(WebhookSecret === undefined ? {} : { webhooks: webhooksOf(settings, Redacted.value(WebhookSecret)) }),
    check: Effect.succeed([
      { subject: "platform", state: "not_checked", detail: "only a start would tell whether the vendor accepts it" },
      {
        subject: "credential",
        state: isBounded ? "ok" : "not_checked",
        detail: isBounded
          ? `the vendor is asked for ${lifetimeSeconds} s; whether it complies is not checked`
          : "neither StartPath nor StartBody has {{lifetimeSeconds}}: the vendor decides how long a credential is valid",
      },
    ]),
  }
}
