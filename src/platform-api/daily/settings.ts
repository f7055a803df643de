import { Schema } from "effect"
import { requiredWith } from "../../settings/setting.ts"
import { base64Key } from "../../settings/values/secret.ts"
import { roomNamePart } from "../../settings/values/values.ts"
import { api, byAgent, vendor } from "../../settings/vendor.ts"

const Settings = Schema.Struct({
  ...api("daily", "Daily", "https://api.daily.co/"),
  AgentId: requiredWith("daily", roomNamePart, {
    own: true,
    description: "name of your agent, with which the names of its rooms end",
  }),
  WebhookSecret: requiredWith("daily", base64Key, {
    description: "`hmac` of Daily's webhook, in base64, with which Daily signs",
  }),
})
export type DailySettings = typeof Settings.Type

export const daily = vendor("Daily", Settings, {
  identify: byAgent,
  tellsLimit: false,
  endsCalls: true,
  blames: { key: "ApiKey", agent: "BaseUrl" },
})
