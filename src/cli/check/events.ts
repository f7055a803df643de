/** Whether the receivers of events can be reached. No event is sent: a request without one shows that name, port and certificate are right. */
import { Effect } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { codeOf, explained, speaksNoTls, withoutClientSpan, withoutRedirects } from "../../lib/http-client.ts"
import { settingPath } from "../../platform-api/faults.ts"
import type { SettingsTree } from "../../settings/Settings.ts"

export interface EventsFinding {
  readonly name: "events"
  readonly campaign: string
  readonly status: "ok" | "failed" | "not_checked"
  readonly message: string
}

const ANSWER_MILLIS = 5_000

interface Reached {
  readonly status: EventsFinding["status"]
  readonly message: string
}

const reach = (url: string): Effect.Effect<Reached, never, HttpClient.HttpClient> =>
  HttpClient.HttpClient.pipe(
    Effect.flatMap((client) => client.execute(HttpClientRequest.head(url))),
    Effect.scoped,
    Effect.map(({ status }): Reached => {
      if (status >= 300 && status < 400) {
        const message = `answers a request without an event with a redirect (HTTP ${status}). If it redirects events too, they are not delivered, because redirects are not followed`
        return { status: "not_checked", message }
      }
      return { status: "ok", message: `can be reached: it answers a request without an event with HTTP ${status}` }
    }),
    Effect.timeoutOrElse({
      duration: ANSWER_MILLIS,
      orElse: () =>
        Effect.succeed<Reached>({ status: "failed", message: `does not answer within ${ANSWER_MILLIS / 1000} s` }),
    }),
    Effect.catch((error) => {
      const { code } = codeOf(error)
      const tls = speaksNoTls(code) ? "; it does not answer in TLS" : ""
      return Effect.succeed<Reached>({ status: "failed", message: `cannot be reached${explained(code)}${tls}` })
    }),
    withoutRedirects,
    withoutClientSpan,
  )

/** Of each campaign with `Events.Url`; campaigns of one receiver ask it once. */
export const checkEvents = ({
  Campaigns,
}: SettingsTree): Effect.Effect<ReadonlyArray<EventsFinding>, never, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const urls = [...new Set(Campaigns.flatMap(({ Events }) => Events?.Url ?? []))]
    const reached = new Map(
      yield* Effect.forEach(urls, (url) => Effect.map(reach(url), (answer) => [url, answer] as const), {
        concurrency: 4,
      }),
    )
    return Campaigns.flatMap(({ Events, name }): ReadonlyArray<EventsFinding> => {
      const answer = Events?.Url === undefined ? undefined : reached.get(Events.Url)
      if (Events === undefined || answer === undefined) return []
      // the settings refuse secrets of less than 24 bytes
      const secrets = `${Events.Secrets.length} ${Events.Secrets.length === 1 ? "secret" : "secrets"} (${settingPath(name, "Events.Secrets")})`
      const whether = `To see whether the receiver knows it, run: voicegate events test ${name}`
      return [
        {
          name: "events",
          campaign: name,
          status: answer.status,
          message: `the receiver at ${settingPath(name, "Events.Url")} ${answer.message}. Each event is signed with ${secrets}. ${whether}`,
        },
      ]
    })
  })
