/** The gate's HTTP API, of which each folder here declares its endpoints: shown by `/openapi.json` and `/docs/api`, and served by the router. */

import { HttpApi, OpenApi } from "effect/http-api"
import { PushCommand } from "../protocol/events.ts"
import { problems } from "../protocol/problems.ts"
import { Budgets } from "./budgets/api.ts"
import { HostEvents } from "./events/api.ts"
import { Operations } from "./health/api.ts"
import { Events } from "./push/api.ts"
import { Availabilities, Requests, Tickets } from "./requests/api.ts"
import { Webhooks } from "./webhooks/api.ts"

/** The part of the API that the router serves. */
export const Routed = HttpApi.make("voicegate")
  .add(Availabilities)
  .add(Tickets)
  .add(Webhooks)
  .add(HostEvents)
  .add(Budgets)
  .add(Operations)

const DESCRIPTION = `The gatekeeper between a browser's voice widget and a voice-agent platform.

Any other path is answered with 404 \`not_found\`, and any other method of a path with 405 \`method_not_allowed\` and \`Allow\`.
Answers to pages of other origins (\`Security.AllowedOrigins\`) also have CORS headers and \`Vary\`.

Documents: [Quick start](start) · [Guides](guides) · [Vendors](vendors) · [Configuration](configuration) ·
[Troubleshooting](troubleshooting) · [Embedding](embedding) · [Widget reference](widget) · [The vendor's SDK](vendor-sdks) ·
[Your own user interface](headless) · [Inside an application](application) · [Inside an Effect application](effect) ·
[Control](control) · [Control in detail](control-reference) · [Deploying](deploying) · [Redis](redis) · [Settings and upgrades](upgrading) · [Backup and restore](backup) ·
[Operating](operating) · [Logs, metrics and alerts](monitoring) · [When the platform fails](failures) · [Personal data](privacy) ·
[Promises](promises) · [Speed](speed) · [Wire protocol](wire) · [Local platform](platform)`

/** The whole API, for the documentation, which begins with the two calls that matter most: the request of a session, and the report of its end. */
export const Documented = HttpApi.make("voicegate")
  .add(Requests)
  .add(Webhooks)
  .add(Tickets)
  .add(Events)
  .add(Availabilities)
  .add(HostEvents)
  .add(Budgets)
  .add(Operations)
  .annotate(HttpApi.AdditionalSchemas, [
    PushCommand.annotate({ identifier: "PushCommand" }),
    problems.notFound.body,
    problems.methodNotAllowed.body,
  ])
  .annotateMerge(OpenApi.annotations({ title: "voicegate", version: "1", description: DESCRIPTION }))
