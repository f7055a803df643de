/** The default platform, whose campaigns have what vendors' do not: regions, a `webSocketUrl`, and the gate's own webhook. */
import type { SettingsTree } from "./Settings.ts"

export const DEFAULT_PLATFORM = "iqra"

/** Whether a campaign uses the default platform. */
export const hasDefaultPlatform = ({ Campaigns }: Pick<SettingsTree, "Campaigns">): boolean =>
  Campaigns.some(({ Platform }) => Platform === DEFAULT_PLATFORM)
