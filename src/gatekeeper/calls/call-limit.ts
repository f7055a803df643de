/**
 * The time limit of one call. It is fixed when the call starts: a reload changes only the limits of later calls. It belongs to the ticket
 * (`fifo-queue/rules/lengths.ts`), and the vendor is told it where it takes a limit a call.
 */
import type { CallLimit } from "../../fifo-queue/FifoQueue.ts"
import { MAX_LIFETIME_SECONDS } from "../../platform-api/adapter.ts"
import { lengthControl } from "../../platform-api/layer.ts"
import type { PlatformApi } from "../../platform-api/PlatformApi.ts"
import type { Campaign, SettingsTree } from "../../settings/Settings.ts"
import type { StoredConfig } from "./stored-config.ts"

/** How much longer than its limit a vendor may take to end a call by itself (ms). */
const VENDOR_DELAY_MILLIS = 60_000

/** What limits the calls of a campaign. */
type Limits = Pick<Campaign, "Budgets" | "MaxCallSeconds">

/**
 * A budget may end a call earlier than its limit, so each call of such a campaign has one: that of all calls. Its page learns when it ends,
 * and stays connected to learn that it ends earlier.
 */
const mayEndByBudget = ({ Budgets }: Limits): boolean => Budgets?.some(({ OnLimit }) => OnLimit === "end") === true

/** Whatever limits a call, in seconds; undefined for no such limit. */
const limitsOf = (campaign: Limits | undefined, stored: StoredConfig): ReadonlyArray<number | undefined> => [
  campaign?.MaxCallSeconds,
  stored.callSeconds,
  campaign !== undefined && mayEndByBudget(campaign) ? Number.POSITIVE_INFINITY : undefined,
]

/** How long the call may last (s): the smallest of its limits, at most `Queue.MaxCallMinutes`; undefined where it has none of its own. */
export const callSecondsOf = (
  campaign: Limits | undefined,
  stored: StoredConfig,
  { MaxCallMinutes }: Pick<SettingsTree["Queue"], "MaxCallMinutes">,
): number | undefined => {
  let smallest: number | undefined
  for (const limit of limitsOf(campaign, stored)) {
    if (limit !== undefined && (smallest === undefined || limit < smallest)) smallest = limit
  }
  return smallest === undefined ? undefined : Math.min(smallest, MaxCallMinutes * 60)
}

/** The limit of a call of this length that starts now, by the store's clock. */
export const callLimitOf = (
  platform: PlatformApi["Service"],
  campaign: Pick<Campaign, "name" | "VendorEndsAfterMinutes">,
  callSeconds: number,
  now: number,
): CallLimit => {
  const endsAt = now + callSeconds * 1000
  switch (lengthControl(platform, campaign.name)) {
    case "endable":
      return { endsAt }
    case "bounded": {
      // the vendor counts from when the page joins
      const seconds = Math.max(callSeconds, platform.shortestCallSeconds?.(campaign.name) ?? 0) + MAX_LIFETIME_SECONDS
      return { endsAt, heldUntil: now + seconds * 1000 + VENDOR_DELAY_MILLIS }
    }
    case "unbounded": {
      const { VendorEndsAfterMinutes: minutes } = campaign
      return minutes === undefined ? { endsAt } : { endsAt, heldUntil: now + minutes * 60_000 + VENDOR_DELAY_MILLIS }
    }
  }
}
