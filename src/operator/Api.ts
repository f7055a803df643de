/**
 * The console's API, declared once: `http/console` serves it, `/console/openapi.json` shows it, and the commands and the page of the console
 * take their types from the same schemas (`shapes.ts`).
 */

import { Context, Schema, SchemaTransformation } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import { Action, ActionOutcome } from "../fifo-queue/operator/actions.ts"
import { refuseUnknown } from "../lib/refuse-unknown.ts"
import { refusals, succeeds } from "../protocol/endpoint-answers.ts"
import { Input, Takes } from "../protocol/endpoint-input.ts"
import { type Problem, plain, problems, unauthenticated } from "../protocol/problems.ts"
import { BudgetOrder, budgetCaller } from "./budget-orders.ts"
import { BudgetOutcome, BudgetsView } from "./budget-shapes.ts"
import { Deliveries, DeliveryFilter, Redelivered, Redelivery, TestedEvent } from "./delivery-shapes.ts"
import { ForgetRequest, Forgotten } from "./forgotten.ts"
import {
  Asking,
  AuditFilter,
  AuditLog,
  Blocked,
  CampaignHistory,
  Campaigns,
  Found,
  HistoryRange,
  Reloaded,
  View,
} from "./shapes.ts"

/** The problems with which the console's API refuses a request, beside those of HTTP itself. */
export const consoleProblems = {
  unauthorized: unauthenticated(
    "ConsoleUnauthorized",
    "console_unauthorized",
    'Bearer realm="voicegate console"',
    "the token is missing or wrong",
  ),
  invalid: plain("ConsoleInvalid", 400, "invalid_request"),
  unknownCampaign: plain("ConsoleUnknownCampaign", 404, "unknown_campaign"),
  settingsRefused: plain("ConsoleSettingsRefused", 422, "settings_refused"),
  notReloadable: plain("ConsoleNotReloadable", 501, "not_reloadable"),
}
const { invalid, notReloadable, settingsRefused, unauthorized, unknownCampaign } = consoleProblems

/** The operator who asks, as logs show them: the address, or its hash. */
export class OperatorName extends Context.Service<OperatorName, string>()("voicegate/operator/OperatorName") {}

/** Lets a request with a token of `Security.ConsoleToken` through. Without it, the API reveals nothing but that it is missing. */
export class ConsoleToken extends HttpApiMiddleware.Service<ConsoleToken, { provides: OperatorName }>()(
  "voicegate/operator/ConsoleToken",
  { security: { token: HttpApiSecurity.bearer } },
) {}

const number = (description: string) =>
  Schema.optionalKey(
    Schema.String.check(Schema.isPattern(/^\d{1,15}$/))
      .annotate({ description })
      .pipe(Schema.decodeTo(Schema.Int, SchemaTransformation.numberFromString)),
  )
const campaign = Schema.optionalKey(
  Schema.String.annotate({ description: "The campaign's name; the default campaign when absent." }),
)

/** Every endpoint checks the token first. */
const refused = <P extends ReadonlyArray<Problem>>(...own: P) =>
  refusals(...own, problems.noClientAddress, unauthorized, problems.originNotAllowed, problems.internalError)

/** What an operator orders, in a body. */
const bodies = [
  invalid,
  problems.malformedJson,
  problems.bodyTooLarge,
  problems.unsupportedMediaType,
  problems.bodyAlreadyRead,
] as const
const orders = [...bodies, problems.storeUnavailable] as const
const refusedOrders = refused(unknownCampaign, ...orders)
const refusedTests = refused(unknownCampaign, ...bodies)

const otherwise = (detail: string) => ({ body: undefined, otherwise: invalid.make(detail) })
/** An order has a body of JSON. */
const order = (detail: string) => ({ body: "application/json" as const, otherwise: invalid.make(detail) })
/** Of an order to one campaign: the default one when absent. */
const ofCampaign = { campaign: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(256))) }
const WRONG_QUERY = otherwise("query: Expected whole numbers, and settings or actions.")

export const wrongHash = invalid.make("hash: Expected 4 to 10 hexadecimal digits, or a caller.")

/** The last time that a block may have as its end (ms since 1970). */
const LAST_TIME = Date.UTC(9999, 11, 31)

const group = HttpApiGroup.make("Console")
  .add(
    HttpApiEndpoint.get("campaigns", "/console/api/campaigns", {
      success: succeeds(200, Campaigns),
      error: refused(),
    }).annotate(OpenApi.Description, "The figures of all campaigns."),
    HttpApiEndpoint.get("view", "/console/api/view", {
      query: {
        campaign,
        since: number("Buckets since this time (ms since 1970)."),
        firstSlot: number("The first row of slots, from 0."),
        slots: number("How many slots; 25 when absent, at most 100."),
        firstPlace: number("The first row of waiting tickets, from 0."),
        places: number("How many waiting tickets; 25 when absent, at most 100."),
      },
      success: succeeds(200, View),
      error: refused(invalid, unknownCampaign),
    })
      .middleware(Input)
      .annotate(Takes, WRONG_QUERY)
      .annotate(
        OpenApi.Description,
        "One campaign with a page of its slots and its waiting tickets, and the gate's health.",
      ),
    HttpApiEndpoint.get("auditLog", "/console/api/audit-log", {
      query: {
        campaign,
        first: number("The first line, from 0."),
        count: number("How many lines; 25 when absent, at most 100."),
        only: Schema.optionalKey(
          AuditFilter.annotate({
            description: "Only changed settings, or only actions on the queue; both when absent.",
          }),
        ),
      },
      success: succeeds(200, AuditLog),
      error: refused(invalid, unknownCampaign, problems.storeUnavailable),
    })
      .middleware(Input)
      .annotate(Takes, WRONG_QUERY)
      .annotate(
        OpenApi.Description,
        "What operators did and which settings changed, newest first. Values of secrets are `***`.",
      ),
    HttpApiEndpoint.get("find", "/console/api/find", {
      query: {
        hash: Schema.optionalKey(Schema.String.annotate({ description: "4 to 10 hexadecimal digits." })),
        caller: Schema.optionalKey(
          Schema.String.check(Schema.isMaxLength(1_024)).annotate({
            description: "In place of a hash: an IP address, or the subject of signed tokens.",
          }),
        ),
        from: Schema.optionalKey(Schema.String.annotate({ description: "The `next` of the answer before." })),
      },
      success: succeeds(200, Found),
      error: refused(invalid, problems.storeUnavailable),
    })
      .middleware(Input)
      .annotate(Takes, { body: undefined, otherwise: wrongHash })
      .annotate(
        OpenApi.Description,
        "The tickets whose hash begins with this text, or of a caller, at most 20. An answer with `next` is incomplete: ask again with it as `from`.",
      ),
    HttpApiEndpoint.get("history", "/console/api/history", {
      query: {
        campaign,
        range: Schema.optionalKey(
          HistoryRange.annotate({
            description: "An hour by the minute, a day by ten minutes, a week by the hour; the hour when absent.",
          }),
        ),
      },
      success: succeeds(200, CampaignHistory),
      error: refused(invalid, unknownCampaign, problems.storeUnavailable),
    })
      .middleware(Input)
      .annotate(Takes, otherwise("range: Expected hour, day or week."))
      .annotate(OpenApi.Description, "What happened in a campaign over time, on all instances."),
    HttpApiEndpoint.get("asking", "/console/api/addresses", {
      success: succeeds(200, Asking),
      error: refused(problems.storeUnavailable),
    }).annotate(
      OpenApi.Description,
      "The addresses that have asked most in the last hour, at all campaigns, and those that are blocked.",
    ),
    HttpApiEndpoint.post("block", "/console/api/addresses", {
      payload: Schema.Struct({
        address: Schema.String.check(Schema.isMaxLength(80)).annotate({
          description: "An IP address, a network such as 203.0.113.0/24, or a hash as the console shows it.",
        }),
        until: Schema.optionalKey(
          Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: LAST_TIME })).annotate({
            description: "When the block ends (ms since 1970), 0 for no end; absent to lift the block.",
          }),
        ),
      }),
      success: succeeds(200, Blocked),
      error: refused(...orders),
    })
      .middleware(Input)
      .annotate(Takes, order("address: Expected an address, and until as a time in ms since 1970."))
      .annotate(
        OpenApi.Description,
        "Blocks an address at all campaigns, or lifts its block: new session requests are refused with 403. Who waits or talks already is not concerned. Written to the audit log of every campaign. `full`: 300 addresses are blocked already.",
      ),
    HttpApiEndpoint.post("act", "/console/api/actions", {
      payload: Schema.Struct({
        ...ofCampaign,
        action: Action,
      }),
      success: succeeds(200, ActionOutcome),
      error: refusedOrders,
    })
      .middleware(Input)
      .annotate(Takes, order("action: Expected an action with its fields."))
      .annotate(
        OpenApi.Description,
        "An action on a campaign. `remove` takes the `seq` of a waiting ticket, `end` the `lease` and `deadline` of a slot, as `view` shows them. A running call is ended at the platform first.",
      ),
    HttpApiEndpoint.get("deliveries", "/console/api/events", {
      query: {
        campaign,
        filter: Schema.optionalKey(
          DeliveryFilter.annotate({ description: "Only events that wait to be delivered, or that were given up." }),
        ),
        before: number("Only events before this `seq`; the newest when absent."),
        count: number("How many; 25 when absent, at most 100."),
      },
      success: succeeds(200, Deliveries),
      error: refused(invalid, unknownCampaign, problems.storeUnavailable),
    })
      .middleware(Input)
      .annotate(Takes, otherwise("query: Expected whole numbers, and all, pending or failed."))
      .annotate(OpenApi.Description, "The events of a campaign and what became of their delivery, newest first."),
    HttpApiEndpoint.post("redeliver", "/console/api/events/redeliver", {
      payload: Schema.Struct({
        ...ofCampaign,
        redelivery: Redelivery,
      }),
      success: succeeds(200, Redelivered),
      error: refusedOrders,
    })
      .middleware(Input)
      .annotate(Takes, order("redelivery: Expected one with seq, or failed with from and to."))
      .annotate(
        OpenApi.Description,
        "Sends one event again, or all that were given up of events between two times (ms since 1970). Written to the audit log.",
      ),
    HttpApiEndpoint.post("testEvent", "/console/api/events/test", {
      payload: Schema.Struct(ofCampaign),
      success: succeeds(200, TestedEvent),
      error: refusedTests,
    })
      .middleware(Input)
      .annotate(Takes, order("campaign: Expected a name."))
      .annotate(
        OpenApi.Description,
        "Sends an event of the type `test` to the receiver of a campaign's events, once, and tells its answer.",
      ),
    HttpApiEndpoint.post("forget", "/console/api/forget", {
      payload: ForgetRequest,
      success: succeeds(200, Forgotten),
      error: refused(...orders),
    })
      .middleware(Input)
      .annotate(Takes, order("forget: Expected a subject or an address, and perhaps dryRun and from."))
      .annotate(
        OpenApi.Description,
        "Forgets a caller in all campaigns, or with `dryRun` counts what is known of them. An answer with `next` is incomplete: ask again with it as `from`. Written to the audit log, without the caller's name.",
      ),
    HttpApiEndpoint.get("budgets", "/console/api/budgets", {
      query: { campaign, ...budgetCaller },
      success: succeeds(200, BudgetsView),
      error: refused(invalid, unknownCampaign, problems.storeUnavailable),
    })
      .middleware(Input)
      .annotate(Takes, otherwise("query: Expected campaign, and caller or subject, each once."))
      .annotate(
        OpenApi.Description,
        "The balances of a campaign's budgets in their present windows; those of callers only for one caller, by the address (`caller`) or the subject of the token (`subject`).",
      ),
    HttpApiEndpoint.post("adjustBudget", "/console/api/budgets/adjust", {
      payload: Schema.Struct({
        ...ofCampaign,
        order: BudgetOrder,
      }),
      success: succeeds(200, BudgetOutcome),
      error: refusedOrders,
    })
      .middleware(Input)
      .annotate(Takes, order("order: Expected budget; by, a number; id, 8 to 64 letters, digits, - and _; and reason."))
      .annotate(
        OpenApi.Description,
        "Changes the cap of a budget for its present window, once by its id. Written to the audit log.",
      ),
    HttpApiEndpoint.post("reload", "/console/api/reload", {
      success: succeeds(200, Reloaded),
      error: refused(settingsRefused, notReloadable),
    }).annotate(
      OpenApi.Description,
      "Reads the settings again. Answers with the names of those that changed, and of those that keep their values until the next start.",
    ),
  )
  .middleware(ConsoleToken)
  // a misspelt `until` must not lift a block, and a misspelt `campaign` must not mean the default one
  .annotateMerge(refuseUnknown)

export const ConsoleApi = HttpApi.make("voicegate console")
  .add(group)
  .annotate(HttpApi.AdditionalSchemas, [problems.notFound.body, problems.methodNotAllowed.body])
  .annotateMerge(
    OpenApi.annotations({
      title: "voicegate console",
      version: "1",
      description:
        "What an operator sees and does. Every request needs `Authorization: Bearer <Security.ConsoleToken>`.",
      transform: (document) => ({ ...document, security: [{ token: [] }] }),
    }),
  )
