/**
 * A vendor without an adapter of its own, by settings: one request starts a session and answers an address, a token or both; a session's
 * state and end, and webhooks, are used as far as the settings describe them.
 */
import { Clock, DateTime, Effect, Predicate, Redacted, Schema } from "effect"
import { equal } from "../equal.ts"
import type { Credential, StartConfig } from "../Session.ts"
import type { GenericSettings } from "../settings/groups/generic.ts"
import { secretParts } from "../settings/masking.ts"
import type { Adapter, AdapterContext, VendorWebhook, Webhooks } from "./adapter.ts"
import { malformed } from "./answer.ts"
import { PlatformError, RequestRefused } from "./errors.ts"
import type { WebSession } from "./model.ts"
import { hmacSha256 } from "./signatures.ts"
import type { Call } from "./transport.ts"
import { chosenIn, isNotFound, SessionId, saysConcurrency, stateOf, unknownState, vendorEndpoint } from "./vendor.ts"

/** How far a webhook's time may differ (ms). */
const TOLERANCE_MILLIS = 5 * 60_000
const isSessionId = Schema.is(SessionId)

type Values = Readonly<Record<string, unknown>>
type Settings = typeof GenericSettings.Type

const PLACEHOLDER = /\{\{(\w+)\}\}/g

/** A path with its placeholders replaced by encoded values. */
const pathOf = (template: string, values: Values): string =>
  template.replace(/^\/+/, "").replace(PLACEHOLDER, (_, name) => encodeURIComponent(String(values[name] ?? "")))

const DOTS = /^\.{1,2}$/

/** Whether a value has become a segment that leads to another path. Percent-encoding would not change what such a segment means. */
const isElsewhere = (template: string, path: string): boolean => {
  const written = template.replace(/^\/+/, "").split(/[/?#]/)
  return path.split(/[/?#]/).some((segment, n) => DOTS.test(segment) && !DOTS.test(written[n] ?? ""))
}

/** JSON with the placeholders in its texts replaced. A text that is one placeholder alone becomes the value itself. */
const filled = (template: unknown, values: Values): unknown => {
  if (typeof template === "string") {
    const [, only = ""] = /^\{\{(\w+)\}\}$/.exec(template) ?? []
    return only === "" ? template.replace(PLACEHOLDER, (_, name) => String(values[name] ?? "")) : values[only]
  }
  if (Array.isArray(template)) return template.map((item) => filled(item, values))
  if (typeof template !== "object" || template === null) return template
  return Object.fromEntries(Object.entries(template).map(([name, value]) => [name, filled(value, values)]))
}

/** The text at a path such as `data.items.0.id`; undefined if there is none. */
const textAt = (value: unknown, path: string): string | undefined => {
  const found = path
    .split(".")
    .reduce<unknown>((at, name) => (Predicate.hasProperty(at, name) ? at[name] : undefined), value)
  return (typeof found === "string" && found !== "") || typeof found === "number" ? String(found) : undefined
}

const headersOf = (lines: Settings["Headers"]) =>
  Object.fromEntries(
    lines.map((line) => {
      const [name = "", ...value] = Redacted.value(line).split(":")
      return [name.trim().toLowerCase(), value.join(":").trim()]
    }),
  )

const webhooksOf = (settings: Settings, secret: string): Webhooks => {
  const { WebhookHeader: name, WebhookScheme: scheme, WebhookTimeHeader: timeName } = settings
  const notOurs = `${name}: It does not match Generic.WebhookSecret.`
  const givenIn = (headers: VendorWebhook["headers"]): string => (headers[name] ?? "").replace(/^sha256=/, "")

  const refuses = (headers: VendorWebhook["headers"], now: number): string | undefined => {
    if (timeName !== undefined) {
      const time = headers[timeName] ?? ""
      const millis = time.length > 11 ? Number(time) : Number(time) * 1000
      if (!/^\d{1,15}$/.test(time)) return `${timeName}: Expected the time of the signature.`
      if (Math.abs(millis - now) > TOLERANCE_MILLIS) return `${timeName}: It is too old or too new.`
    }
    const given = givenIn(headers)
    return given === "" || (scheme === "token" && !equal(given, secret)) ? notOurs : undefined
  }

  return {
    proof: JSON.stringify([secret, name, scheme, timeName]),
    refuses,
    verify: ({ headers, rawBody }, now) => {
      const refusal = refuses(headers, now)
      if (refusal !== undefined || scheme === "token") return refusal
      const signed = timeName === undefined ? rawBody : `${headers[timeName]}.${rawBody}`
      return equal(givenIn(headers), hmacSha256(secret, signed, scheme)) ? undefined : notOurs
    },
    ended: (body) => {
      const { WebhookEndEvents, WebhookEventField, WebhookIdField } = settings
      if (typeof body !== "object" || body === null) return { _tag: "malformed" }
      const event = WebhookEventField === undefined ? undefined : textAt(body, WebhookEventField)
      if (WebhookEventField !== undefined && event === undefined) return { _tag: "malformed" }
      if (event !== undefined && !WebhookEndEvents.includes(event)) return { _tag: "ignored" }
      const id = textAt(body, WebhookIdField)
      return isSessionId(id) ? { _tag: "ended", sessions: [[id]] } : { _tag: "malformed" }
    },
  }
}

export const generic = (
  settings: Settings,
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

  const mint = Effect.fnUntraced(function* (config: StartConfig, group: string) {
    const now = yield* Clock.currentTimeMillis
    const { clientIdentifier, correlationId = clientIdentifier, dynamicVariables, metadata } = config
    const values = { ...limits, clientIdentifier, correlationId, metadata, variables: dynamicVariables }
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
    const answer = yield* send(endpoint, Schema.Unknown, start, group)
    const id = textAt(answer, settings.SessionIdField)
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
              Effect.catchIf(isNotFound, () => Effect.succeed(unknownState)),
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
