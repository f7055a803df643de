/** The platforms of campaigns: the default one, and the vendors. */
import { Struct } from "effect"
import { assemblyai } from "./assemblyai/settings.ts"
import { cartesia } from "./cartesia/settings.ts"
import { daily } from "./daily/settings.ts"
import { deepgram } from "./deepgram/settings.ts"
import { elevenlabs } from "./elevenlabs/settings.ts"
import { generic } from "./generic/settings.ts"
import { livekit } from "./livekit/settings.ts"
import { openai } from "./openai/settings.ts"
import { pipecat } from "./pipecat/settings.ts"
import { retell } from "./retell/settings.ts"
import { ultravox } from "./ultravox/settings.ts"
import { vapi } from "./vapi/settings.ts"

/**
 * The vendors, by the keys of their settings in a campaign, in the order of the documents. A vendor needs a folder beside this file and a
 * name in three more lists, of which `test/platform-api/folders.test.ts` knows.
 */
export const vendors = {
  LiveKit: livekit,
  Retell: retell,
  Vapi: vapi,
  ElevenLabs: elevenlabs,
  Ultravox: ultravox,
  OpenAI: openai,
  Pipecat: pipecat,
  Daily: daily,
  Deepgram: deepgram,
  AssemblyAI: assemblyai,
  Cartesia: cartesia,
  Generic: generic,
}

/** Vendors that have ended their service: the value of `Platform`, and what was expected instead. */
export const ENDED_VENDORS: ReadonlyMap<string, string> = new Map([
  ["hume", "another platform: Hume ended its voice agents (EVI) on 2026-11-13, so remove its settings"],
])

/** The platform of a campaign that names none. Its campaigns have what vendors' do not: regions, a `webSocketUrl`, and the gate's own webhook. */
export const DEFAULT_PLATFORM = "iqra"

/** The key of a vendor's settings. */
export type Group = keyof typeof vendors
export type Vendor = (typeof vendors)[Group]
export type PlatformName = typeof DEFAULT_PLATFORM | Vendor["platform"]

export const VENDORS: ReadonlyArray<Vendor> = Object.values(vendors)

/** The values of `Platform`. */
export const PLATFORMS: ReadonlyArray<PlatformName> = [DEFAULT_PLATFORM, ...VENDORS.map(({ platform }) => platform)]

const byPlatform: ReadonlyMap<string, Vendor> = new Map(VENDORS.map((each) => [each.platform, each]))

/** Undefined for the default platform. */
export const vendorOf = (platform: PlatformName): Vendor | undefined => byPlatform.get(platform)

interface ToSettings extends Struct.Lambda {
  <V extends { readonly settings: unknown }>(vendor: V): V["settings"]
  readonly "~lambda.out": this["~lambda.in"] extends { readonly settings: infer S } ? S : never
}

export const vendorFields = Struct.map(
  vendors,
  Struct.lambda<ToSettings>(({ settings }) => settings),
)

export type SettingsOf<G extends Group> = (typeof vendors)[G]["settings"]["Type"]

export type VendorSettings = { readonly [G in Group]?: SettingsOf<G> | undefined }

export const hasDefaultPlatform = ({
  Campaigns,
}: {
  readonly Campaigns: ReadonlyArray<{ readonly Platform: PlatformName }>
}): boolean => Campaigns.some(({ Platform }) => Platform === DEFAULT_PLATFORM)
