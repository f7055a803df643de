/**
 * Reads the settings of a vendor. A vendor's campaign has no business and no web campaign, so what identifies it, in the store and to
 * callers, is the vendor's agent at that vendor's address.
 */
import { Redacted, type Schema } from "effect"
import { GenericSettings } from "./groups/generic.ts"
import {
  AssemblyAISettings,
  CartesiaSettings,
  DailySettings,
  DeepgramSettings,
  ElevenLabsSettings,
  LiveKitSettings,
  OpenAISettings,
  PipecatSettings,
  RetellSettings,
  UltravoxSettings,
  VapiSettings,
  type Vendor,
  type VendorSettings,
} from "./groups/vendors.ts"
import type { Reader } from "./reader.ts"
import { ownNames } from "./setting.ts"

/** The settings of a vendor, and what takes the place of the default platform's. */
export interface VendorRead {
  readonly settings: VendorSettings
  /** where the vendor's API is, with a slash at its end; campaigns with the same one share a circuit breaker */
  readonly BaseUrl: string
  readonly ApiSecretToken: Redacted.Redacted<string>
  /** the agent, without spaces and slashes; two campaigns must not have the same one */
  readonly agent: string
}

/** Reads the settings at a campaign's path; undefined when one has a problem, which is then in the reader's list. */
type ReadVendor = (read: Reader, base: string, inheritFrom: string | undefined) => VendorRead | undefined

/** Declares how a vendor's settings are read; `fields` are those of its group. */
const reading =
  <A>(
    group: string,
    schema: Schema.Decoder<A> & { readonly fields: Schema.Struct.Fields },
    identify: (settings: A) => VendorRead,
  ): ReadVendor =>
  (read, base, inheritFrom) => {
    const { valid } = read.group({
      base: `${base}.${group}.`,
      schema,
      draft: schema,
      own: ownNames(schema.fields),
      inheritFrom: inheritFrom === undefined ? undefined : `${inheritFrom}.${group}.`,
    })
    return valid && identify(valid)
  }

/** A vendor whose agents have ids, and whose API has one key. */
const byAgent = ({
  AgentId,
  ApiKey,
  BaseUrl,
}: {
  readonly AgentId: string
  readonly ApiKey: Redacted.Redacted<string>
  readonly BaseUrl: string
}) => ({ BaseUrl, ApiSecretToken: ApiKey, agent: AgentId })

const readOpenAI = reading("OpenAI", OpenAISettings, (OpenAI) => ({ settings: { OpenAI }, ...byAgent(OpenAI) }))

const readGeneric = reading("Generic", GenericSettings, (Generic) => ({
  settings: { Generic },
  BaseUrl: Generic.BaseUrl,
  ApiSecretToken: Generic.Headers[0] ?? Redacted.make(""),
  agent: `${new URL(Generic.BaseUrl).host}:${Generic.AgentId}`,
}))

const vendors: Readonly<Record<Vendor, ReadVendor>> = {
  livekit: reading("LiveKit", LiveKitSettings, (LiveKit) => ({
    settings: { LiveKit },
    BaseUrl: `${LiveKit.Url.replace(/^ws/, "http")}/`,
    ApiSecretToken: LiveKit.ApiSecret,
    agent: [new URL(LiveKit.Url).host, ...(LiveKit.AgentName === undefined ? [] : [LiveKit.AgentName])].join(":"),
  })),
  retell: reading("Retell", RetellSettings, (Retell) => ({ settings: { Retell }, ...byAgent(Retell) })),
  vapi: reading("Vapi", VapiSettings, (Vapi) => ({
    settings: { Vapi },
    ...byAgent({ ...Vapi, AgentId: Vapi.AssistantId }),
  })),
  elevenlabs: reading("ElevenLabs", ElevenLabsSettings, (ElevenLabs) => ({
    settings: { ElevenLabs },
    ...byAgent(ElevenLabs),
  })),
  ultravox: reading("Ultravox", UltravoxSettings, (Ultravox) => ({ settings: { Ultravox }, ...byAgent(Ultravox) })),
  openai: (read, base, inheritFrom) => {
    const found = readOpenAI(read, base, inheritFrom)
    if (found?.settings.OpenAI?.Api !== "live") return found
    const given = (name: string): boolean =>
      read.has(`${base}.OpenAI.${name}`) || (inheritFrom !== undefined && read.has(`${inheritFrom}.OpenAI.${name}`))
    if (!given("Model")) read.reportMissing(`${base}.OpenAI.Model`, "a model of the Live API, such as gpt-live-1")
    if (found.settings.OpenAI.PromptId !== undefined) {
      read.reportInvalid(
        `${base}.OpenAI.PromptId`,
        "nothing with the Live API, which has no stored prompts: use Instructions",
      )
    }
    return found
  },
  pipecat: reading("Pipecat", PipecatSettings, (Pipecat) => ({
    settings: { Pipecat },
    ...byAgent({ ...Pipecat, ApiKey: Pipecat.PrivateKey }),
  })),
  daily: reading("Daily", DailySettings, (Daily) => ({ settings: { Daily }, ...byAgent(Daily) })),
  deepgram: reading("Deepgram", DeepgramSettings, (Deepgram) => ({ settings: { Deepgram }, ...byAgent(Deepgram) })),
  assemblyai: reading("AssemblyAI", AssemblyAISettings, (AssemblyAI) => ({
    settings: { AssemblyAI },
    ...byAgent(AssemblyAI),
  })),
  cartesia: reading("Cartesia", CartesiaSettings, (Cartesia) => ({ settings: { Cartesia }, ...byAgent(Cartesia) })),
  generic: (read, base, inheritFrom) => {
    const found = readGeneric(read, base, inheritFrom)
    const Generic = found?.settings.Generic
    if (Generic !== undefined && Generic.UrlField === undefined && Generic.TokenField === undefined) {
      read.reportMissing(`${base}.Generic.UrlField`, "this or Generic.TokenField: where the answer has the credential")
    }
    if (Generic !== undefined && Generic.SessionIdField === undefined) {
      const naming = (["StatusPath", "EndPath", "WebhookSecret"] as const).filter((name) => Generic[name] !== undefined)
      if (naming.length > 0) {
        read.reportMissing(
          `${base}.Generic.SessionIdField`,
          `where the answer names the session, which ${naming.join(", ")} ${naming.length === 1 ? "needs" : "need"}`,
        )
      }
    }
    return found
  },
}

/** Vendors that do not tell how many calls may run. */
export const WITHOUT_LIMIT: ReadonlySet<Vendor> = new Set([
  "livekit",
  "elevenlabs",
  "openai",
  "daily",
  "deepgram",
  "assemblyai",
  "cartesia",
  "generic",
])

/**
 * Reads the settings of the campaign's vendor at `base`. The slots must be set where the vendor does not tell how many calls may run.
 */
export const readVendor = (
  vendor: Vendor,
  read: Reader,
  base: string,
  inheritFrom: string | undefined,
): VendorRead | undefined => {
  // a campaign of an account uses the account's slots
  const isSet = read.has(`${base}.MaxConcurrency`) || read.has(`${base}.Account.Name`)
  if (WITHOUT_LIMIT.has(vendor) && !isSet) {
    read.reportMissing(`${base}.MaxConcurrency`, `the number of slots, which ${vendor} does not report`)
  }
  return vendors[vendor](read, base, inheritFrom)
}
