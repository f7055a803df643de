/**
 * Sends one event to the host: a signed webhook (Standard Webhooks 1.0). A redirect is not followed, so the event goes only where the
 * operator has said. Of the answer, the status and `Retry-After` are used; its body is thrown away.
 */
import { Clock, Effect, Redacted, Stream } from "effect"
import { type HttpClient, HttpClientRequest } from "effect/http"
import { codeOf, withoutClientSpan, withoutRedirects } from "../lib/http-client.ts"
import { retryAfterSeconds } from "../lib/retry-after.ts"
import { sign } from "../lib/standard-webhooks.ts"
import type { HostEvent } from "../protocol/host-events.ts"
import type { CampaignEvents } from "../settings/groups/events.ts"

/** How long the receiver has for its answer (ms). */
export const RECEIVER_MILLIS = 10_000
/** How much of an answer is read, so that an ordinary connection can be used again, in bytes. */
const READ_BYTES = 16_384
/** … and for how long (ms): a connection whose answer was read may be used again. */
const DRAIN_MILLIS = 2_000

export interface Answer {
  /** undefined without an answer */
  readonly status: number | undefined
  /** why the event was not taken; undefined when it was */
  readonly error: string | undefined
  /** how long the receiver asks to wait (ms); 0 when it does not */
  readonly waitMillis: number
}

const headersOf = ({ Secrets }: CampaignEvents, id: string, timestamp: string, body: string) => ({
  "user-agent": "voicegate",
  "webhook-id": id,
  "webhook-timestamp": timestamp,
  "webhook-signature": Secrets.map((secret) => sign(Redacted.value(secret), id, timestamp, body)).join(" "),
})

const errorOf = (status: number): string | undefined => {
  if (status >= 200 && status < 300) return undefined
  return status >= 300 && status < 400 ? `HTTP ${status}: redirects are not followed` : `HTTP ${status}`
}

/** @param url where the campaign's events are sent */
export const sendEvent = Effect.fnUntraced(function* (
  client: HttpClient.HttpClient,
  url: string,
  events: CampaignEvents,
  event: HostEvent,
) {
  const now = yield* Clock.currentTimeMillis
  const body = JSON.stringify(event)
  const request = HttpClientRequest.post(url, {
    headers: headersOf(events, event.id, String(Math.floor(now / 1000)), body),
  }).pipe(HttpClientRequest.bodyText(body, "application/json"))
  return yield* client.execute(request).pipe(
    Effect.flatMap(({ headers, status, stream }) => {
      let size = 0
      const read = stream.pipe(
        Stream.takeUntil((chunk) => {
          size += chunk.length
          return size > READ_BYTES
        }),
        Stream.runDrain,
        // the status has been said: a body that does not end changes nothing of it
        Effect.timeoutOption(DRAIN_MILLIS),
        Effect.ignore,
      )
      const seconds = retryAfterSeconds(headers["retry-after"], headers.date, now) ?? 0
      const answer: Answer = { status, error: errorOf(status), waitMillis: seconds * 1000 }
      return Effect.as(read, answer)
    }),
    Effect.timeoutOrElse({
      duration: RECEIVER_MILLIS,
      orElse: () =>
        Effect.succeed<Answer>({
          status: undefined,
          error: `no answer within ${RECEIVER_MILLIS / 1000} s`,
          waitMillis: 0,
        }),
    }),
    Effect.catch((error) => {
      const { code } = codeOf(error)
      return Effect.succeed<Answer>({
        status: undefined,
        error: code === "" ? "the connection failed" : code,
        waitMillis: 0,
      })
    }),
    withoutRedirects,
    withoutClientSpan,
  )
})
