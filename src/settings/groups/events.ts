/** The settings of the events that a campaign reports to the host's own programs, below `Events`. */
import { Schema } from "effect"
import { listWithDefault, optional, withDefault } from "../setting.ts"
import { secureUrl } from "../values/network.ts"
import { eventsToken, signingSecret } from "../values/secret.ts"
import { list, wholeNumber } from "../values/values.ts"

export const EventsSettings = Schema.Struct({
  Url: optional(secureUrl, "none", {
    description: "where events of calls are sent, as webhooks of Standard Webhooks",
    documentation: "An https URL, or http on loopback. Redirects are not followed. See [Events](control.md#events)",
  }),
  Secrets: listWithDefault(list(signingSecret), [], "needed with `Url`", {
    description: "keys by which events are signed: `whsec_` and base64",
    documentation:
      "Each event is signed by all of them. To change one, add the new one, change the receiver, remove the old one",
  }),
  Token: listWithDefault(list(eventsToken), [], "none: the log cannot be read over HTTP", {
    description: "who has this token may read the events at `GET /api/events`",
  }),
  RetentionHours: withDefault(wholeNumber(1, 8_760), 72, {
    description: "how long an event is kept",
  }),
  MaxStored: withDefault(wholeNumber(100, 10_000_000), 100_000, {
    description: "the most events that are kept; beyond that the oldest are dropped and counted",
  }),
})

/** The events of a campaign that reports any. */
export type CampaignEvents = typeof EventsSettings.Type
