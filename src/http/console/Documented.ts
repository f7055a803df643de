/**
 * The console's API for `/console/openapi.json`. The router's own definition (`Api.ts`) has no queries and no refusals, because the
 * handlers read queries and bodies themselves, after the token.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { ActionOutcome, AuditFilter, AuditLog, Campaigns, Found, Reloaded, View } from "../../operator/shapes.ts"
import { refusals, succeeds } from "../answers/described.ts"
import { failures } from "../answers/failures.ts"
import { type Problem, problems } from "../answers/problems.ts"
import { Command } from "./Api.ts"
import { consoleProblems } from "./problems.ts"

const number = (description: string) =>
  Schema.optionalKey(Schema.String.check(Schema.isPattern(/^\d{1,15}$/)).annotate({ description }))
const campaign = Schema.optionalKey(
  Schema.String.annotate({ description: "The campaign's name; the default campaign when absent." }),
)

/** Every endpoint checks the token first. */
const refused = (...own: ReadonlyArray<Problem>) =>
  refusals(
    ...own,
    problems.noClientAddress,
    consoleProblems.unauthorized,
    problems.originNotAllowed,
    problems.internalError,
  )
const { invalid, unknownCampaign } = consoleProblems
const storeProblems = failures.StoreUnavailable.problems

const group = HttpApiGroup.make("Console").add(
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
  }).annotate(
    OpenApi.Description,
    "One campaign with a page of its slots and its waiting tickets, and the gate's health.",
  ),
  HttpApiEndpoint.get("auditLog", "/console/api/audit-log", {
    query: {
      campaign,
      first: number("The first line, from 0."),
      count: number("How many lines; 25 when absent, at most 100."),
      only: Schema.optionalKey(
        AuditFilter.annotate({ description: "Only changed settings, or only actions on the queue; both when absent." }),
      ),
    },
    success: succeeds(200, AuditLog),
    error: refused(invalid, unknownCampaign, ...storeProblems),
  }).annotate(
    OpenApi.Description,
    "What operators did and which settings changed, newest first. Values of secrets are `***`.",
  ),
  HttpApiEndpoint.get("find", "/console/api/find", {
    query: {
      hash: Schema.String.annotate({ description: "4 to 10 hexadecimal digits." }),
      from: Schema.optionalKey(Schema.String.annotate({ description: "The `next` of the answer before." })),
    },
    success: succeeds(200, Found),
    error: refused(invalid, ...storeProblems),
  }).annotate(
    OpenApi.Description,
    "The tickets whose hash begins with this text, at most 20. An answer with `next` is incomplete: ask again with it as `from`.",
  ),
  HttpApiEndpoint.post("act", "/console/api/actions", {
    payload: Command,
    success: succeeds(200, ActionOutcome),
    error: refused(
      invalid,
      unknownCampaign,
      problems.malformedJson,
      problems.bodyTooLarge,
      problems.unsupportedMediaType,
      problems.bodyAlreadyRead,
      ...storeProblems,
    ),
  }).annotate(
    OpenApi.Description,
    "An action on a campaign. `remove` takes the `seq` of a waiting ticket, `end` the `lease` and `deadline` of a slot, as `view` shows them. A running call is ended at the platform first.",
  ),
  HttpApiEndpoint.post("reload", "/console/api/reload", {
    success: succeeds(200, Reloaded),
    error: refused(consoleProblems.settingsRefused, consoleProblems.notReloadable),
  }).annotate(
    OpenApi.Description,
    "Reads the settings again. Answers with the names of those that changed, and of those that keep their values until the next start.",
  ),
)

export const DocumentedConsole = HttpApi.make("voicegate console")
  .add(group)
  .annotate(HttpApi.AdditionalSchemas, [problems.notFound.body, problems.methodNotAllowed.body])
  .annotateMerge(
    OpenApi.annotations({
      title: "voicegate console",
      version: "1",
      description:
        "What an operator sees and does. Every request needs `Authorization: Bearer <Security.ConsoleToken>`.",
      transform: (document) => ({
        ...document,
        components: { ...Object(document.components), securitySchemes: { token: { type: "http", scheme: "bearer" } } },
        security: [{ token: [] }],
      }),
    }),
  )
