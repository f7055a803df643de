/** The problems with which the console's API refuses a request, beside those of HTTP itself. */
import { plain, unauthenticated } from "../answers/problems.ts"

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
