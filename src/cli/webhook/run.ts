/** Sends the webhooks of `webhook test`, as a platform would. The secrets are never printed. */
import { randomUUID } from "node:crypto"
import { Clock, Effect, type FileSystem, Option, Redacted, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { boundedText, codeOf, MAX_ANSWER_BYTES, speaksNoTls, withoutRedirects } from "../../lib/http-client.ts"
import { sign } from "../../lib/standard-webhooks.ts"
import { NO_TLS, printable } from "../../operator/commands/console-client.ts"
import { loadWebhookAccess } from "../../settings/access/webhook-access.ts"
import type { SettingsSource } from "../../settings/load.ts"
import type { SettingsInvalid } from "../../settings/problems.ts"

const SESSION_ENDED_PATH = "/api/webhook/session-ended"

const ANSWER_MILLIS = 15_000

/** What a gate answered to one webhook. */
export interface SentWebhook {
  /** the setting whose secret was sent, such as `Security.WebhookApiToken[0]` */
  readonly secret: string
  readonly ok: boolean
  /** the HTTP status; absent where the gate did not answer */
  readonly status?: number
  /** for people, without the secret */
  readonly message: string
}

export interface TestedWebhook {
  readonly ok: boolean
  /** where the webhooks were sent */
  readonly url: string
  readonly sent: ReadonlyArray<SentWebhook>
}

const decodeMessage = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Struct({ message: Schema.String })))

const answerOf = (status: number, text: string): Omit<SentWebhook, "secret"> => {
  if (status === 200 && /"released"/.test(text)) {
    return { ok: true, status, message: "accepted. The session is invented, so no slot was freed." }
  }
  if (status === 200) {
    return { ok: false, status, message: "HTTP 200, but not from a gate: something else serves this address." }
  }
  const told = Option.match(decodeMessage(text), {
    onNone: () => "",
    onSome: ({ message }) => ` ${printable(message)}`,
  })
  return { ok: false, status, message: `HTTP ${status}.${told}` }
}

/** Sends one webhook with each secret of the settings, or one without a secret where there is none. */
export const testWebhook = Effect.fnUntraced(function* (
  source: SettingsSource,
  given: string | undefined,
): Effect.fn.Return<TestedWebhook, SettingsInvalid, FileSystem.FileSystem | HttpClient.HttpClient> {
  const { secrets, tokens, url: own } = yield* loadWebhookAccess(source)
  const url = (given ?? own).replace(/\/$/, "") + SESSION_ENDED_PATH
  const http = yield* HttpClient.HttpClient
  const body = JSON.stringify({ ConversationSessionId: `webhook-test-${randomUUID()}` })

  const send = (secret: string, headers: Readonly<Record<string, string>>): Effect.Effect<SentWebhook> =>
    http
      .execute(
        HttpClientRequest.post(url).pipe(
          HttpClientRequest.setHeaders(headers),
          HttpClientRequest.bodyText(body, "application/json"),
        ),
      )
      .pipe(
        Effect.flatMap((response) =>
          Effect.map(boundedText(response, MAX_ANSWER_BYTES), (text) => answerOf(response.status, text)),
        ),
        withoutRedirects,
        Effect.timeoutOption(ANSWER_MILLIS),
        Effect.map(Option.getOrElse(() => ({ ok: false, message: `no answer within ${ANSWER_MILLIS / 1000} s.` }))),
        Effect.catch(({ message, reason }) => {
          const { code } = codeOf(reason.cause)
          return Effect.succeed({
            ok: false,
            message: `cannot be reached${code === "" ? `: ${message}` : ` (${code})`}.${speaksNoTls(code) ? ` ${NO_TLS}` : ""}`,
          })
        }),
        Effect.map((answer) => ({ secret, ...answer })),
      )

  const signed = (secret: string, seconds: number) => {
    const [id, timestamp] = [`msg_${randomUUID()}`, String(seconds)]
    return {
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": sign(secret, id, timestamp, body),
    }
  }
  const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const named = (setting: string, index: number, all: ReadonlyArray<unknown>): string =>
    all.length === 1 ? setting : `${setting}[${index}]`
  const webhooks = [
    ...tokens.map((token, i) =>
      send(named("Security.WebhookApiToken", i, tokens), { "x-api-token": Redacted.value(token) }),
    ),
    ...secrets.map((secret, i) =>
      send(named("Security.WebhookSigningSecret", i, secrets), signed(Redacted.value(secret), seconds)),
    ),
  ]
  const sent = yield* Effect.all(webhooks.length === 0 ? [send("without a secret", {})] : webhooks)
  return { ok: sent.every(({ ok }) => ok), url, sent }
}, Effect.provide(FetchHttpClient.layer))
