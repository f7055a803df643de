/**
 * The endpoints of the console, for its page: the view, the campaigns, the audit log, the search, the actions and the reload.
 * `Documented.ts` describes them for other clients.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Action, ActionOutcome, AuditLog, Campaigns, Found, Reloaded, View } from "../../operator/shapes.ts"

export const Command = Schema.Struct({
  campaign: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(256))),
  action: Action,
})

/** All need `Authorization: Bearer <Security.ConsoleToken>`, and answer with a problem document otherwise. */
const group = HttpApiGroup.make("Console").add(
  HttpApiEndpoint.get("view", "/console/api/view", { success: View }),
  HttpApiEndpoint.get("auditLog", "/console/api/audit-log", { success: AuditLog }),
  HttpApiEndpoint.get("campaigns", "/console/api/campaigns", { success: Campaigns }),
  HttpApiEndpoint.get("find", "/console/api/find", { success: Found }),
  HttpApiEndpoint.post("act", "/console/api/actions", { payload: Command, success: ActionOutcome }),
  HttpApiEndpoint.post("reload", "/console/api/reload", { success: Reloaded }),
)

export const Api = HttpApi.make("voicegate console").add(group)
