/** The names of the keys of a campaign's event log; `rules/shared/log.ts` describes their contents. */
import { keysOf, ownKeyOf } from "../fifo-queue/keys.ts"
import { queueKeys } from "../fifo-queue/rules/shared/keys.ts"

const NAMES: ReadonlyArray<string> = [
  ...["eventState", "eventsPending", "eventChains", "eventsDue", "eventDeliveries", "eventsFailed"],
]

/** All under the campaign's hash tag. The first two are the queue's, whose steps append the events. */
export const eventKeysOf = (campaign: string): ReadonlyArray<string> => {
  const { events, meta } = queueKeys(keysOf(campaign))
  return [events, meta, ...NAMES.map((name) => ownKeyOf(campaign, name))]
}
