/** The adapter of each platform. */
import type { Campaign, SettingsTree } from "../Settings.ts"
import type { Adapter, Send } from "./adapter.ts"
import { iqra } from "./iqra.ts"
import { livekit } from "./livekit.ts"

/**
 * The longest time for which a credential is valid for connecting, however long the start window is (s). Sessions older than three
 * minutes are looked up at the vendor: by then a credential that nobody has used must have expired.
 */
const MAX_LIFETIME_SECONDS = 120

/** The adapter of a campaign's platform. The settings have been checked: a vendor's campaign has that vendor's settings. */
export const makeAdapter = (
  campaign: Campaign,
  { MaxCallMinutes, StartWindowSeconds }: Pick<SettingsTree["Queue"], "MaxCallMinutes" | "StartWindowSeconds">,
  send: Send,
): Adapter => {
  const context = {
    campaign,
    send,
    lifetimeSeconds: Math.min(StartWindowSeconds, MAX_LIFETIME_SECONDS),
    longestCallSeconds: MaxCallMinutes * 60,
  }
  if (campaign.LiveKit !== undefined) return livekit(campaign.LiveKit, context)
  return iqra(context)
}
