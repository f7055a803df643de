/**
 * The settings of a vendor without an adapter of its own, whose REST API answers a start with an address or a token. Paths and the body are
 * templates: `{{agent}}`, `{{clientIdentifier}}`, `{{correlationId}}`, `{{lifetimeSeconds}}`, `{{longestCallSeconds}}` and, for a running
 * session, `{{sessionId}}`; in the body also `{{variables}}` and `{{metadata}}`.
 */
import { Schema } from "effect"
import { baseUrl, headerName } from "../network-values.ts"
import { headerLine, providerKey, secretJson } from "../secret-values.ts"
import { listWithDefault, optional, requiredWith, withDefault } from "../setting.ts"
import { flag, identifier, list, oneOf, text } from "../values.ts"

const needed = (value: Schema.Codec<string>, description: string, own = false) =>
  requiredWith("generic", value, { description, own })

export const GenericSettings = Schema.Struct({
  BaseUrl: needed(baseUrl, "address of the vendor's API"),
  AgentId: needed(identifier, "the agent, `{{agent}}` in templates", true),
  Headers: listWithDefault(list(headerLine), [], "none", {
    description: "headers of every request, such as `Authorization: Bearer …`",
  }),
  StartMethod: withDefault(oneOf(["post", "get", "put"]), "post", { description: "method of a start" }),
  StartPath: needed(text, "template of a start's path below `BaseUrl`, such as `agents/{{agent}}/calls`"),
  StartBody: optional(secretJson, "none", {
    description: "template of a start's body, as JSON in a text",
    documentation:
      'A text that is only `"{{variables}}"` or `"{{metadata}}"` becomes the object. It may contain keys, so it is shown nowhere',
  }),
  SessionIdField: needed(text, "where the answer has the session's id, such as `data.id`"),
  UrlField: optional(text, "no address", { description: "where the answer has the address; this or `TokenField`" }),
  TokenField: optional(text, "no token", { description: "where the answer has the token" }),
  SingleUse: withDefault(flag, false, { description: "the token opens one session, once" }),
  AtCapacity: optional(text, "`concurren` in a 400, 402 or 429", {
    description: "text in a refusal that says that all calls are taken",
  }),
  StatusPath: optional(text, "the vendor is not asked", {
    description: "template of the path that tells a session's state; with `StatusField` and `OverStatuses`",
  }),
  StatusField: withDefault(text, "status", { description: "where that answer has the state" }),
  OverStatuses: listWithDefault(list(text), ["ended"], "ended", {
    description: "the states of a session that is over",
  }),
  EndPath: optional(text, "the vendor is not asked", {
    description: "template of the path that ends a session, by POST",
  }),
  WebhookSecret: optional(providerKey, "no webhooks", { description: "secret of the vendor's webhooks" }),
  WebhookHeader: withDefault(headerName, "x-webhook-secret", { description: "header of the secret or the signature" }),
  WebhookScheme: withDefault(oneOf(["token", "hex", "base64"]), "token", {
    description: "what it has: the secret itself (`token`), or the HMAC SHA-256 of the body (`hex`, `base64`)",
  }),
  WebhookTimeHeader: optional(headerName, "the body alone is signed", {
    description: "header of the time, in seconds or milliseconds; then `{time}.{body}` is signed",
  }),
  WebhookIdField: withDefault(text, "sessionId", { description: "where a webhook has the session's id" }),
  WebhookEventField: optional(text, "every webhook is an end", { description: "where a webhook has its event" }),
  WebhookEndEvents: listWithDefault(list(text), [], "none", { description: "the events that are an end" }),
})
