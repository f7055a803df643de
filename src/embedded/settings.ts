/**
 * The type of the settings file, for hosts that write settings in code. It helps an editor; the check at `createGate` decides and
 * reports every problem at once, with its path. The published types are others, of the same names: `scripts/settings-types.ts` writes them
 * with the description of each setting, and a number is a number there.
 */

import type { CampaignSettings as Campaign } from "../settings/groups/campaign.ts"
import type { SettingsFile } from "../settings/Settings.ts"

type Value = boolean | number | string | ReadonlyArray<string>

/** Nothing is required, and undefined means absent, so that `process.env.NAME` can be passed directly. */
type AsGiven<T> = T extends Value ? T : { readonly [K in keyof T]?: AsGiven<T[K]> | undefined }

/** The campaign below `VoiceAiPlatform`, or a further one, which inherits settings that it omits. */
export type CampaignSettings = AsGiven<typeof Campaign.Encoded>

type File = AsGiven<typeof SettingsFile.Encoded>

/**
 * Settings of the gate, in the shape of the settings file; `docs/configuration.md` describes each. Secrets are never printed. Without
 * effect, since the host's own server listens: `Server.Port`, `.MaxConnectionsPerAddress`, `.PrivateHost` and `.PrivatePort`.
 * `Server.Host` matters only when it is a loopback address: it then limits the allowed names in `Host`.
 */
export interface GateSettings extends Omit<File, "VoiceAiPlatform"> {
  readonly VoiceAiPlatform: NonNullable<File["VoiceAiPlatform"]>
}
