/** The order to forget a caller, and its answer, as the console's API and the commands have them. */
import { Schema } from "effect"
import { parseAddress } from "../lib/ip/address.ts"
import { Subject } from "../protocol/identity.ts"

const { Array: List, Boolean: Flag, Finite, Literals, optionalKey, String: Text, Struct } = Schema

/** The places of the store that have something of a caller. */
export const Place = Literals([
  "tickets",
  "events",
  "undelivered_events",
  "damaged_records",
  "limits",
  "budgets",
  "billed_calls",
  "address_facts",
  "seen",
]).annotate({
  description:
    "`tickets`: callers of tickets that are over. `events`: events that were delivered, and `undelivered_events` those that were not. `damaged_records`: records that a rule could not read. `limits`: used units of the limits. `budgets`: calls and windows of the caller's own budgets, and `billed_calls` the caller's calls in those of campaigns. `address_facts`: what an IP provider has said of the address. `seen`: the address among those that ask most and the latest refusals.",
})
export type Place = typeof Place.Type

/** What is kept, since the caller waits or is in a call, or since it must not be changed. */
export const Kept = Literals([
  "waiting",
  "calls",
  "events",
  "open_units",
  "held_time",
  "settlements",
  "blocks",
  "audit_log",
]).annotate({
  description:
    "`waiting`, `calls`: tickets that wait, and that hold a slot, with their `events`, `open_units` of the limits and `held_time` of budgets; `settlements`: what is carried out within seconds; `blocks`: an operator has blocked the address, which may be lifted; `audit_log`: lines of an operator at this address, or of its block.",
})
export type Kept = typeof Kept.Type

export const ForgetRequest = Struct({
  subject: optionalKey(Subject.annotate({ description: "The subject of the caller, as it was signed." })),
  address: optionalKey(
    Text.check(Schema.isMaxLength(80)).annotate({
      description: "Or the address. Of an IPv6 address, everything of its /64, which is one caller.",
    }),
  ),
  dryRun: optionalKey(Flag.annotate({ description: "Only count." })),
  from: optionalKey(Text.check(Schema.isMaxLength(600)).annotate({ description: "The `next` of the answer before." })),
})
export type ForgetRequest = typeof ForgetRequest.Type

/** What one request has found, and removed unless it was a dry run. */
export const Forgotten = Struct({
  reference: Text.annotate({
    description: "Names this order in the audit log, which does not have the caller's name.",
  }),
  dryRun: Flag,
  found: List(Struct({ place: Place, campaign: optionalKey(Text), count: Finite })),
  kept: List(Struct({ place: Kept, campaign: optionalKey(Text), count: Finite })),
  next: optionalKey(
    Text.annotate({ description: "There is more: ask again with it as `from`, and add the counts up." }),
  ),
  unreached: List(Text).annotate({ description: "Where the gate cannot look." }),
})
export type Forgotten = typeof Forgotten.Type

const STAGES = ["tickets", "calls", "events", "audit", "rest"] as const
type Stage = (typeof STAGES)[number]

/** Where a request goes on. */
export interface Position {
  readonly reference: string
  readonly stage: Stage
  /** of the stage: a cursor of tickets, a number of an event, or a line of the audit log */
  readonly at: string
  /** the key of the campaign; empty in the last stage */
  readonly campaign: string
}

const POSITION = /^([0-9a-f]{8}) (tickets|calls|events|audit|rest) (\d{1,20}) (.{0,512})$/su

const isStage = (text: string | undefined): text is Stage => STAGES.some((stage) => stage === text)

export const positionIn = (text: string): Position | undefined => {
  const [, reference, stage, at, campaign] = POSITION.exec(text) ?? []
  if (reference === undefined || at === undefined || campaign === undefined || !isStage(stage)) return undefined
  return { reference, stage, at, campaign }
}

export const positionText = ({ at, campaign, reference, stage }: Position): string =>
  `${reference} ${stage} ${at} ${campaign}`

/** What is wrong with a request, as the end of a sentence; undefined if nothing is. */
export const wrongForget = ({ address, from, subject }: ForgetRequest): string | undefined => {
  if ((address === undefined) === (subject === undefined))
    return "forget: Expected a subject or an address, and not both."
  if (address !== undefined && parseAddress(address) === undefined) return "address: Expected an IPv4 or IPv6 address."
  return from === undefined || positionIn(from) !== undefined
    ? undefined
    : "from: Expected the `next` of the answer before."
}
