/** The problems with which the console's API refuses a request, beside those of HTTP itself. */
import { Schema } from "effect"
import { plain, problem } from "../problems.ts"

export const consoleProblems = {
  unauthorized: problem("ConsoleUnauthorized", 401, ["console_unauthorized"], {
    members: {},
    headers: { "www-authenticate": Schema.String.annotate({ description: "`Bearer`." }) },
    remark: "the token is missing or wrong",
  }),
  invalid: plain("ConsoleInvalid", 400, "invalid_request"),
  unknownCampaign: plain("ConsoleUnknownCampaign", 404, "unknown_campaign"),
  settingsRefused: plain("ConsoleSettingsRefused", 422, "settings_refused"),
  notReloadable: plain("ConsoleNotReloadable", 501, "not_reloadable"),
}
