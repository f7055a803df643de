/** The adapter of each platform. */
import type { Campaign, SettingsTree } from "../settings/Settings.ts"
import { type Adapter, type AdapterContext, MAX_LIFETIME_SECONDS, type Send } from "./adapter.ts"
import { assemblyai } from "./assemblyai/adapter.ts"
import { cartesia } from "./cartesia/adapter.ts"
import { daily } from "./daily/adapter.ts"
import { deepgram } from "./deepgram/adapter.ts"
import { elevenlabs } from "./elevenlabs/adapter.ts"
import { generic } from "./generic/adapter.ts"
import { iqra } from "./iqra/adapter.ts"
import { livekit } from "./livekit/adapter.ts"
import { openai } from "./openai/adapter.ts"
import { pipecat } from "./pipecat/adapter.ts"
import { retell } from "./retell/adapter.ts"
import { ultravox } from "./ultravox/adapter.ts"
import { vapi } from "./vapi/adapter.ts"
import { type Group, type SettingsOf, vendorOf } from "./vendors.ts"

const adapters: {
  readonly [G in Group]: (settings: SettingsOf<G>, context: AdapterContext) => Adapter
} = {
  AssemblyAI: assemblyai,
  Cartesia: cartesia,
  Daily: daily,
  Deepgram: deepgram,
  ElevenLabs: elevenlabs,
  Generic: generic,
  LiveKit: livekit,
  OpenAI: openai,
  Pipecat: pipecat,
  Retell: retell,
  Ultravox: ultravox,
  Vapi: vapi,
}

/** Undefined if the campaign has no settings of that vendor. */
const vendorsAdapter = <G extends Group>(group: G, context: AdapterContext): Adapter | undefined => {
  const settings: SettingsOf<G> | undefined = context.campaign[group]
  return settings === undefined ? undefined : adapters[group](settings, context)
}

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
  const vendor = vendorOf(campaign.Platform)
  return (vendor && vendorsAdapter(vendor.group, context)) ?? iqra(context)
}
