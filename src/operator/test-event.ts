/** Sends an event that says nothing to the receiver of a campaign, signed as every event is, so that an operator sees how it is answered. */
import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import type { HttpClient } from "effect/http"
import { sendEvent } from "../events/send.ts"
import { monotonicMillis } from "../lib/age.ts"
import type { HostEvent } from "../protocol/host-events.ts"
import { isoTime } from "../protocol/session-answers.ts"
import type { Campaign } from "../settings/Settings.ts"
import type { TestedEvent } from "./delivery-shapes.ts"

/** Undefined for a campaign without `Events.Url`. It is sent once, whatever the answer; it is in no log of events. @param now the time of day (ms) */
export const testEvent = Effect.fnUntraced(function* (
  client: HttpClient.HttpClient,
  { Events, name, Platform }: Campaign,
  now: number,
): Effect.fn.Return<TestedEvent | undefined> {
  if (Events?.Url === undefined) return undefined
  const event: HostEvent = {
    id: `evt_test_${randomBytes(8).toString("hex")}`,
    type: "test",
    campaign: name,
    seq: 0,
    at: isoTime(now),
    platform: Platform,
  }
  const began = yield* monotonicMillis
  const { error, status } = yield* sendEvent(client, Events.Url, Events, event)
  return {
    event,
    to: new URL(Events.Url).origin,
    signatures: Events.Secrets.length,
    ...(status === undefined ? {} : { status }),
    ...(error === undefined ? {} : { error }),
    took: Math.round((yield* monotonicMillis) - began),
  }
})
