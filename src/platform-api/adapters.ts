/** The adapter of each platform. */
import type { Campaign, SettingsTree } from "../settings/Settings.ts"
import { type Adapter, MAX_LIFETIME_SECONDS, type Send } from "./adapter.ts"
import { assemblyai } from "./assemblyai.ts"
import { cartesia } from "./cartesia.ts"
import { daily } from "./daily.ts"
import { deepgram } from "./deepgram.ts"
import { elevenlabs } from "./elevenlabs.ts"
import { generic } from "./generic.ts"
import { iqra } from "./iqra.ts"
import { livekit } from "./livekit.ts"
import { openai } from "./openai.ts"
import { pipecat } from "./pipecat.ts"
import { retell } from "./retell.ts"
import { ultravox } from "./ultravox.ts"
import { vapi } from "./vapi.ts"

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
  if (campaign.Retell !== undefined) return retell(campaign.Retell, context)
  if (campaign.Vapi !== undefined) return vapi(campaign.Vapi, context)
  if (campaign.ElevenLabs !== undefined) return elevenlabs(campaign.ElevenLabs, context)
  if (campaign.Generic !== undefined) return generic(campaign.Generic, context)
  if (campaign.Ultravox !== undefined) return ultravox(campaign.Ultravox, context)
  if (campaign.OpenAI !== undefined) return openai(campaign.OpenAI, context)
  if (campaign.Pipecat !== undefined) return pipecat(campaign.Pipecat, context)
  if (campaign.Daily !== undefined) return daily(campaign.Daily, context)
  if (campaign.Deepgram !== undefined) return deepgram(campaign.Deepgram, context)
  if (campaign.AssemblyAI !== undefined) return assemblyai(campaign.AssemblyAI, context)
  if (campaign.Cartesia !== undefined) return cartesia(campaign.Cartesia, context)
  return iqra(context)
}
