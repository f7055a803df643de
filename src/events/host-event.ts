/** An event as a host gets it, made of what is stored. */
import { createHash } from "node:crypto"
import { Option, Schema } from "effect"
import { keyOfCampaign } from "../fifo-queue/keys.ts"
import { EventFacts, type HostEvent } from "../protocol/host-events.ts"
import { isoTime } from "../protocol/session-answers.ts"
import type { Campaign } from "../settings/Settings.ts"

const { Finite, String: Text, optionalKey } = Schema

const Stored = Schema.fromJsonString(
  Schema.Struct({
    seq: Finite,
    at: Finite,
    // an event of a type that this version does not know is handed on: a newer gate has written it
    type: Text,
    ticket: optionalKey(Text),
    first: optionalKey(Finite),
    session: optionalKey(Text),
    reason: optionalKey(Text),
    millis: optionalKey(Finite),
    billedSeconds: optionalKey(Finite),
    cost: optionalKey(Finite),
    budget: optionalKey(Text),
    share: optionalKey(Finite),
    about: optionalKey(Text),
  }),
)
const decodeStored = Schema.decodeUnknownOption(Stored)
const decodeFacts = Schema.decodeUnknownOption(Schema.fromJsonString(EventFacts))

const factsIn = (about: string | undefined): EventFacts =>
  about === undefined ? {} : Option.getOrElse(decodeFacts(about), () => ({}))

/** Names an event without a ticket: the same for every reader, another one in every campaign and store. */
const nameOf = (campaign: Campaign, at: number): string =>
  createHash("sha256")
    .update(`${keyOfCampaign(campaign)} ${at}`)
    .digest("hex")
    .slice(0, 16)

/**
 * Undefined for a text that is no event.
 *
 * @param firstsOf the stored acceptance with this number; undefined when it is not kept any more
 * @param aheadMillis how far the time of day is ahead of the store's time (ms)
 */
export const hostEventOf = (
  campaign: Campaign,
  text: string,
  firstsOf: (seq: number) => string | undefined,
  aheadMillis: number,
): HostEvent | undefined => {
  const stored = Option.getOrUndefined(decodeStored(text))
  if (stored === undefined) return undefined
  const { about, at, billedSeconds, budget, cost, first, millis, reason, seq, session, share, ticket, type } = stored
  const facts = first === undefined ? about : factsOf(firstsOf(first))
  return {
    id: `evt_${ticket ?? nameOf(campaign, at)}_${seq}`,
    type,
    campaign: campaign.name,
    seq,
    at: isoTime(at + aheadMillis),
    platform: campaign.Platform,
    ...(ticket === undefined ? {} : { ticketHash: ticket }),
    ...factsIn(facts),
    ...(session === undefined ? {} : { sessionId: session }),
    ...(reason === undefined ? {} : { reason }),
    ...(millis === undefined ? {} : { durationSeconds: Math.round(millis / 1000) }),
    ...(billedSeconds === undefined ? {} : { billedSeconds }),
    ...(cost === undefined ? {} : { cost }),
    ...(budget === undefined ? {} : { budget }),
    ...(share === undefined ? {} : { share }),
  }
}

const factsOf = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : Option.getOrUndefined(decodeStored(text))?.about

/** The acceptances by their numbers. */
export const firstsBySeq = (texts: ReadonlyArray<string>): ((seq: number) => string | undefined) => {
  const bySeq = new Map(
    texts.flatMap((text) => {
      const stored = Option.getOrUndefined(decodeStored(text))
      return stored === undefined ? [] : [[stored.seq, text] as const]
    }),
  )
  return (seq) => bySeq.get(seq)
}
