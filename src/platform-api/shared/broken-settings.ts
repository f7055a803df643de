/** Sentences about settings at a vendor that break a promise of the gate; each is empty where nothing is wrong or nothing is known. */
import type { AdapterContext } from "../adapter.ts"

/** A webhook's URL without its credentials, query and fragment, which may be secret. */
export const addressOf = (url: string): string => {
  const parsed = URL.parse(url)
  return parsed === null ? "an invalid address" : `${parsed.origin}${parsed.pathname}`
}

/** Where the webhook of a vendor goes, of a gate at any address. */
export const goesToGate = (url: string, platform: string): boolean =>
  URL.parse(url)?.pathname.endsWith(`/api/webhook/${platform}`) === true

/**
 * An agent's own webhook goes elsewhere. Without one, the account's may be used, which no vendor shows here.
 *
 * @param setting where the address is at the vendor
 */
export const webhookElsewhere = (
  url: string | null | undefined,
  platform: string,
  setting: string,
): ReadonlyArray<string> =>
  !url || goesToGate(url, platform)
    ? []
    : [
        `The agent's webhook (${setting}) does not go to /api/webhook/${platform} of a gate: ends of calls are noticed minutes late. ` +
          "Let it go there, or pass its requests on.",
      ]

/** None of the events that report an end is sent. `sent` is absent where the vendor then sends its default, which has them. */
export const endsUnreported = (
  sent: ReadonlyArray<string> | null | undefined,
  ends: ReadonlyArray<string>,
  setting: string,
): ReadonlyArray<string> =>
  !sent || ends.some((each) => sent.includes(each))
    ? []
    : [`The webhook does not report the end of a call: add ${ends[0]} to ${setting}.`]

/** A call may last longer than the gate holds its slot, where the gate can neither limit nor end it. */
export const longerThanSlot = (
  seconds: number | null | undefined,
  { longestCallSeconds }: Pick<AdapterContext, "longestCallSeconds">,
  setting: string,
): ReadonlyArray<string> =>
  seconds === null || seconds === undefined || seconds <= longestCallSeconds
    ? []
    : [
        `Queue.MaxCallMinutes: A call may last ${seconds} s (${setting}), and its slot is free after ${longestCallSeconds} s: a longer call would ` +
          "run without a slot. Make the first the shorter one.",
      ]

/** The vendor gives a caller less time to join than the gate does. */
export const joinsTooLate = (
  vendor: string,
  seconds: number,
  { lifetimeSeconds }: Pick<AdapterContext, "lifetimeSeconds">,
): ReadonlyArray<string> =>
  lifetimeSeconds <= seconds
    ? []
    : [
        `Queue.StartWindowSeconds: ${vendor} ends a call that nobody has joined within ${seconds} s, and the start window is longer. Set it to ` +
          `${seconds} or less.`,
      ]
