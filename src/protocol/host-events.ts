/** Events of calls, as the host's own programs get them: by webhook, or from `GET /api/events`. */
import { Schema } from "effect"

const { Finite, Record, String: Text, Struct, optionalKey } = Schema

const said = <S extends Schema.Top>(schema: S, description: string) => optionalKey(schema.annotate({ description }))

/** What the events of a ticket say of its caller, on which a host joins. */
const eventFacts = {
  subject: said(Text, "Who calls, by the signed token of the host; absent without one."),
  clientIdentifier: said(
    Text,
    "The caller's name for the platform, as its session has it. The page chooses it, so it proves nothing.",
  ),
  metadata: said(Record(Text, Text), "The `metadata` of the request; absent when it is longer than 4 KiB as JSON."),
}
export const EventFacts = Struct(eventFacts)
export type EventFacts = typeof EventFacts.Type

const EVENT_TYPES = [
  "call.accepted",
  "call.called",
  "call.started",
  "call.ended",
  "call.corrected",
  "budget.alert",
  "budget.exhausted",
] as const

export const HostEvent = Struct({
  id: Text.annotate({
    description:
      "Names the event for ever: whoever gets it twice knows it by this. The header `webhook-id` has it too.",
  }),
  type: Text.annotate({
    description: `What has happened: ${EVENT_TYPES.map((type) => `\`${type}\``).join(", ")}; or \`test\`, which an operator has sent. Later versions have further types: ignore those that you do not know.`,
  }),
  campaign: Text.annotate({ description: "The campaign's name in the settings." }),
  seq: Finite.annotate({ description: "Counts the events of the campaign, from 1." }),
  at: Text.annotate({ description: "When it happened, ISO 8601." }),
  platform: Text.annotate({ description: "`Platform` of the campaign." }),
  ticketHash: said(
    Text,
    "Names the ticket. Its first 10 digits are the hash in log and console. Absent in events of a budget.",
  ),
  ...eventFacts,
  sessionId: said(Text, "The platform's id of the session: of a call that has started."),
  reason: said(
    Text,
    "Of `call.ended`: how. The last state of its ticket, such as `ended`, `left`, `missed` or `failed`.",
  ),
  durationSeconds: said(
    Finite,
    "Of `call.ended`: how long the call was, by the vendor's report of its end, else as the gate has measured it.",
  ),
  billedSeconds: said(Finite, "What the budgets count of the call, in seconds."),
  cost: said(Finite, "What the call costs, by the campaign's price."),
  budget: said(Text, "The budget's name: of `budget.alert` and `budget.exhausted`."),
  share: said(Finite, "Of `budget.alert`: the share of the cap that is used, such as 0.8."),
})
export type HostEvent = typeof HostEvent.Type

/** The longest `metadata` of an event, as JSON, in bytes. */
export const MAX_EVENT_METADATA = 4_096
