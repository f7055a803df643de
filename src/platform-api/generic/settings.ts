/**
 * The settings of a vendor without an adapter of its own, whose REST API answers a start with an address or a token. Paths and the body are
 * templates: `{{agent}}`, `{{clientIdentifier}}`, `{{correlationId}}`, `{{lifetimeSeconds}}`, `{{longestCallSeconds}}` and, for a running
 * session, `{{sessionId}}`; in the body also `{{variables}}` and `{{metadata}}`.
 */
import { Redacted, Schema } from "effect"
import { listWithDefault, optional, requiredWith, withDefault } from "../../settings/setting.ts"
import { baseUrl, headerName } from "../../settings/values/network.ts"
import { headerLine, providerKey, secretJson } from "../../settings/values/secret.ts"
import { flag, identifier, list, oneOf, text } from "../../settings/values/values.ts"
import { type Contradiction, vendor } from "../../settings/vendor.ts"

const needed = (value: Schema.Codec<string>, description: string, own = false) =>
  requiredWith("generic", value, { description, own })

const Settings = Schema.Struct({
  BaseUrl: needed(baseUrl, "address of the vendor's API"),
  AgentId: needed(identifier, "the agent, `{{agent}}` in templates", true),
  Headers: listWithDefault(list(headerLine), [], "none", {
    description: "headers of every request, such as `Authorization: Bearer …`",
  }),
  StartMethod: withDefault(oneOf(["post", "get", "put"]), "post", { description: "method of a start" }),
  StartPath: needed(text, "template of a start's path below `BaseUrl`, such as `agents/{{agent}}/calls`"),
  StartBody: optional(secretJson, "none", {
    description: "template of a start's body, as JSON in a string",
    documentation:
      'A string that is only `"{{variables}}"` or `"{{metadata}}"` becomes the object. The body may contain keys, so it is never shown',
  }),
  SessionIdField: optional(text, "the answer names no session, and the gate names it", {
    description:
      "path of the session's id in the answer, such as `data.id`; needed with `StatusPath`, `EndPath` or `WebhookSecret`",
  }),
  UrlField: optional(text, "no address", { description: "path of the address in the answer; this or `TokenField`" }),
  TokenField: optional(text, "no token", { description: "path of the token in the answer" }),
  SingleUse: withDefault(flag, false, { description: "the token opens one session, once" }),
  AtCapacity: optional(text, "`concurren` in a 400, 402 or 429", {
    description: "text by which a refusal says that all calls are taken",
  }),
  StatusPath: optional(text, "the vendor is not asked", {
    description: "template of the path that tells a session's state; with `StatusField` and `OverStatuses`",
  }),
  StatusField: withDefault(text, "status", { description: "path of the state in the answer of `StatusPath`" }),
  OverStatuses: listWithDefault(list(text), ["ended"], "ended", {
    description: "the states of a session that is over",
  }),
  EndPath: optional(text, "the vendor is not asked", {
    description: "template of the path that ends a session, by POST",
  }),
  WebhookSecret: optional(providerKey, "no webhooks", { description: "secret of the vendor's webhooks" }),
  WebhookHeader: withDefault(headerName, "x-webhook-secret", { description: "header of the secret or the signature" }),
  WebhookScheme: withDefault(oneOf(["token", "hex", "base64"]), "token", {
    description:
      "what `WebhookHeader` contains: the secret itself (`token`), or the HMAC SHA-256 of the body (`hex`, `base64`)",
  }),
  WebhookTimeHeader: optional(headerName, "the body alone is signed", {
    description: "header with the time, in seconds or milliseconds; the signature is then of `{time}.{body}`",
  }),
  WebhookIdField: withDefault(text, "sessionId", { description: "path of the session's id in a webhook" }),
  WebhookEventField: optional(text, "every webhook is an end", { description: "path of the event in a webhook" }),
  WebhookEndEvents: listWithDefault(list(text), [], "none", { description: "the events that mean the end of a call" }),
})
export type GenericSettings = typeof Settings.Type

const WITH_ID = ["StatusPath", "EndPath", "WebhookSecret"] as const

const contradictions = (settings: GenericSettings): ReadonlyArray<Contradiction> => {
  const { SessionIdField, TokenField, UrlField } = settings
  const missing = (setting: string, expected: string): Contradiction => ({ setting, expected, missing: true })
  const naming = SessionIdField === undefined ? WITH_ID.filter((name) => settings[name] !== undefined) : []
  return [
    ...(UrlField === undefined && TokenField === undefined
      ? [missing("UrlField", "this or Generic.TokenField: where the answer has the credential")]
      : []),
    ...(naming.length === 0
      ? []
      : [
          missing(
            "SessionIdField",
            `where the answer names the session, which ${naming.join(", ")} ${naming.length === 1 ? "needs" : "need"}`,
          ),
        ]),
  ]
}

export const generic = vendor("Generic", Settings, {
  identify: ({ AgentId, BaseUrl, Headers }) => ({
    BaseUrl,
    ApiSecretToken: Headers[0] ?? Redacted.make(""),
    agent: `${new URL(BaseUrl).host}:${AgentId}`,
  }),
  tellsLimit: false,
  endsCalls: "EndPath",
  blames: { key: "Headers", agent: "AgentId" },
  contradictions,
})
