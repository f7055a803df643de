/**
 * Asks the console's API of a running gate, with the operator's token from the settings. The token is never an argument: every user of
 * a machine can read the arguments of its processes, and shells keep them in a history.
 */

import { Data, Effect, Option, Redacted, Schema } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { type Action, ActionOutcome } from "../../fifo-queue/operator/actions.ts"
import { boundedText, codeOf, MAX_ANSWER_BYTES, speaksNoTls, withoutRedirects } from "../../lib/http-client.ts"
import { loadConsoleAccess } from "../../settings/access/console-access.ts"
import type { SettingsSource } from "../../settings/load.ts"
import type { BudgetCaller, BudgetOrder } from "../budget-orders.ts"
import { BudgetOutcome, BudgetsView } from "../budget-shapes.ts"
import { Deliveries, type DeliveryFilter, Redelivered, type Redelivery, TestedEvent } from "../delivery-shapes.ts"
import { type ForgetRequest, Forgotten } from "../forgotten.ts"
import { Asking, Blocked, CampaignHistory, Campaigns, Found, type HistoryRange, Reloaded, View } from "../shapes.ts"

/** The gate cannot be reached, or refused; the message says which, for the operator. */
export class ConsoleFailed extends Data.TaggedError("ConsoleFailed")<{ readonly message: string }> {}

const ANSWER_MILLIS = 15_000

/** The code of a path that a gate does not have. */
const NOT_FOUND = "not_found"

const REMEDY = "Does the gate run, and is this its address (--url, or Server.Host and Server.Port of the settings)?"

/** For a gate that is asked in TLS and does not speak it. */
export const NO_TLS = "It does not answer in TLS: a gate itself serves http, and its proxy https."

const decodeProblem = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ code: Schema.optionalKey(Schema.String), message: Schema.String })),
)

/** Without control characters, which would command the terminal. */
export const printable = (text: string): string => text.replaceAll(/\p{Cc}/gu, "?")

/** The same of a text of several lines, such as a list of problems. */
const printableLines = (text: string): string => text.split(/\r?\n/).map(printable).join("\n")

const refusal = (url: string, status: number, text: string): ConsoleFailed => {
  const problem = Option.getOrUndefined(decodeProblem(text))
  const told = problem === undefined ? "" : ` ${printableLines(problem.message)}`
  if (status === 401) {
    return new ConsoleFailed({ message: `${url} refuses the token: Security.ConsoleToken differs from the gate's.` })
  }
  if (problem?.code === "unknown_campaign") {
    return new ConsoleFailed({
      message: `${url} has no such campaign: "voicegate campaign list" shows those that it has.`,
    })
  }
  if (status === 404 && (problem?.code ?? NOT_FOUND) === NOT_FOUND) {
    return new ConsoleFailed({
      message:
        `${url} has no console: either it is not the gate's address with its Server.BasePath (--url), or the gate runs ` +
        "without Security.ConsoleToken.",
    })
  }
  return new ConsoleFailed({ message: `${url} answers HTTP ${status}.${told}` })
}

/** The path of a resource, with the parameters that are given. */
const pathOf = (name: string, query: Readonly<Record<string, string | number>>): string =>
  `console/api/${name}?${new URLSearchParams(
    Object.fromEntries(Object.entries(query).map(([key, value]) => [key, String(value)])),
  )}`

/** A client of the gate at `given`, or at the address of the settings. */
export const connect = Effect.fnUntraced(function* (source: SettingsSource, given: string | undefined) {
  const { token, url: own } = yield* loadConsoleAccess(source)
  const url = given ?? own
  const http = yield* HttpClient.HttpClient

  const send = <A>(request: HttpClientRequest.HttpClientRequest, answer: Schema.Decoder<A>) =>
    http.execute(HttpClientRequest.bearerToken(request, Redacted.value(token))).pipe(
      Effect.flatMap((response) =>
        Effect.map(boundedText(response, MAX_ANSWER_BYTES), (text) => ({ status: response.status, text })),
      ),
      withoutRedirects,
      Effect.mapError(({ message, reason }) => {
        const { code } = codeOf(reason.cause)
        return new ConsoleFailed({
          message: `${url} cannot be reached${code === "" ? `: ${message}` : ` (${code})`}. ${speaksNoTls(code) ? NO_TLS : REMEDY}`,
        })
      }),
      Effect.timeoutOrElse({
        duration: ANSWER_MILLIS,
        orElse: () =>
          Effect.fail(new ConsoleFailed({ message: `${url} did not answer within ${ANSWER_MILLIS / 1000} s.` })),
      }),
      Effect.filterOrFail(
        ({ status }) => status === 200,
        ({ status, text }) => refusal(url, status, text),
      ),
      Effect.flatMap(({ text }) =>
        Effect.mapError(
          Schema.decodeUnknownEffect(Schema.fromJsonString(answer))(text),
          () => new ConsoleFailed({ message: `${url} sent an answer that this version does not understand.` }),
        ),
      ),
    )

  return {
    campaigns: send(HttpClientRequest.get(`${url}console/api/campaigns`), Campaigns),
    view: (campaign: string, rows: Readonly<Record<"firstSlot" | "slots" | "firstPlace" | "places", number>>) =>
      send(HttpClientRequest.get(url + pathOf("view", { campaign, ...rows })), View),
    find: (hash: string, from?: string) =>
      send(HttpClientRequest.get(url + pathOf("find", { hash, ...(from === undefined ? {} : { from }) })), Found),
    act: (campaign: string, action: Action) =>
      send(
        HttpClientRequest.post(`${url}console/api/actions`).pipe(
          HttpClientRequest.bodyJsonUnsafe({ campaign, action }),
        ),
        ActionOutcome,
      ),
    history: (campaign: string, range: HistoryRange) =>
      send(HttpClientRequest.get(url + pathOf("history", { campaign, range })), CampaignHistory),
    asking: send(HttpClientRequest.get(`${url}console/api/addresses`), Asking),
    /** `until` is absent to lift a block, and 0 for one without an end. */
    block: (address: string, until: number | undefined) =>
      send(
        HttpClientRequest.post(`${url}console/api/addresses`).pipe(
          HttpClientRequest.bodyJsonUnsafe({ address, ...(until === undefined ? {} : { until }) }),
        ),
        Blocked,
      ),
    deliveries: (campaign: string, filter: DeliveryFilter, before: number) =>
      send(HttpClientRequest.get(url + pathOf("events", { campaign, filter, before })), Deliveries),
    redeliver: (campaign: string, redelivery: Redelivery) =>
      send(
        HttpClientRequest.post(`${url}console/api/events/redeliver`).pipe(
          HttpClientRequest.bodyJsonUnsafe({ campaign, redelivery }),
        ),
        Redelivered,
      ),
    testEvent: (campaign: string) =>
      send(
        HttpClientRequest.post(`${url}console/api/events/test`).pipe(HttpClientRequest.bodyJsonUnsafe({ campaign })),
        TestedEvent,
      ),
    forget: (request: ForgetRequest) =>
      send(
        HttpClientRequest.post(`${url}console/api/forget`).pipe(HttpClientRequest.bodyJsonUnsafe(request)),
        Forgotten,
      ),
    budgets: (campaign: string, whose: BudgetCaller) =>
      send(HttpClientRequest.get(url + pathOf("budgets", { campaign, ...whose })), BudgetsView),
    adjustBudget: (campaign: string, order: BudgetOrder) =>
      send(
        HttpClientRequest.post(`${url}console/api/budgets/adjust`).pipe(
          HttpClientRequest.bodyJsonUnsafe({ campaign, order }),
        ),
        BudgetOutcome,
      ),
    reload: send(
      HttpClientRequest.post(`${url}console/api/reload`).pipe(HttpClientRequest.bodyJsonUnsafe({})),
      Reloaded,
    ),
  }
}, Effect.provide(FetchHttpClient.layer))

export type ConsoleClient = Effect.Success<ReturnType<typeof connect>>
