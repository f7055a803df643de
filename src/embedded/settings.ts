/**
 * The settings file's shape as a type, for hosts that write settings in code. It helps while typing; what counts is the
 * check when the gate is created, which reports every problem at once, with its path.
 */
import type { SettingsFile } from "../Settings.ts"
import type { CampaignSettings as Campaign } from "../settings/groups/campaign.ts"

/** One value, or a list. */
type Value = boolean | number | string | ReadonlyArray<string>

/** Nothing is required here, since undefined is absent, so that `process.env.NAME` can be given as it is. */
type AsGiven<T> = T extends Value ? T : { readonly [K in keyof T]?: AsGiven<T[K]> | undefined }

/** A campaign below `VoiceAiPlatform`, or a further one, which inherits what it leaves out. */
export type CampaignSettings = AsGiven<typeof Campaign.Encoded>

type File = AsGiven<typeof SettingsFile.Encoded>

/**
 * Settings of the gate, in the shape of the settings file; `docs/configuration.md` describes each. Secrets stay in the process and are
 * never printed. Of no effect here, as the host listens where it likes: `Server.Port`, `.MaxConnectionsPerAddress`, `.PrivateHost` and
 * `.PrivatePort`. `Server.Host` only says by which names a request may call the gate where it is a loopback address.
 */
export interface GateSettings extends Omit<File, "VoiceAiPlatform"> {
  readonly VoiceAiPlatform: NonNullable<File["VoiceAiPlatform"]>
}
