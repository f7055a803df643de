/**
 * The configured campaigns, and ticket ids. An id is 128 random bits and a tag of four characters, which every instance derives
 * from the campaign in the same way.
 */
import { createHash, randomBytes } from "node:crypto"
import { Context, Effect, Layer } from "effect"
import { keyOfCampaign } from "../fifo-queue/keys.ts"
import { type Campaign, Settings, type SettingsTree } from "../settings/Settings.ts"

const SECRET_BYTES = 16
/** Random bytes are requested in blocks: a request costs more than using them. */
const POOL_BYTES = 4096

const pooledSecrets = (): (() => string) => {
  let pool = Buffer.alloc(0)
  let used = 0
  return () => {
    if (used >= pool.length) {
      pool = randomBytes(POOL_BYTES)
      used = 0
    }
    const secret = pool.toString("base64url", used, used + SECRET_BYTES)
    // a secret that was handed out is not kept in memory
    pool.fill(0, used, used + SECRET_BYTES)
    used += SECRET_BYTES
    return secret
  }
}

/** Generates unguessable strings of at least 128 bits, base64url. Simulations replace it with a seeded generator. */
export const Secrets = Context.Reference<() => string>("voicegate/Secrets", {
  defaultValue: pooledSecrets,
})

const TAG_LENGTH = 4

export const tagOf = (ticket: string): string => ticket.slice(-TAG_LENGTH)

/** The path of a campaign's setting in the configuration. */
export const settingOf = ({ name }: Campaign, setting: keyof Campaign | "Account.MaxConcurrency"): string =>
  name === "default" ? `VoiceAiPlatform.${setting}` : `VoiceAiPlatform.Campaigns.${name}.${setting}`

export class Campaigns extends Context.Service<
  Campaigns,
  {
    readonly all: ReadonlyArray<Campaign>
    readonly default: Campaign
    /** by its name in the settings or its web campaign id; undefined, null and empty mean the default */
    readonly find: (id: string | null | undefined) => Campaign | undefined
    /** by the tag in its id */
    readonly ofTicket: (ticket: string) => Campaign | undefined
    readonly newTicket: (campaign: Campaign, secret: string) => string
    /** the suffix of its tickets' ids */
    readonly tag: (campaign: Campaign) => string
    /**
     * identifies the campaign in the store, with its account; the same on every instance, even if their settings name it differently
     */
    readonly key: (campaign: Campaign) => string
    /** its name in the settings by its key; the key of a campaign that the settings do not have */
    readonly nameOf: (key: string) => string
  }
>()("voicegate/gatekeeper/Campaigns") {}

export const makeCampaigns = (settings: Pick<SettingsTree, "Campaigns">): Campaigns["Service"] => {
  const all = settings.Campaigns
  const keys = new Map(all.map((campaign) => [campaign, keyOfCampaign(campaign)]))
  const key = (campaign: Campaign): string => keys.get(campaign) ?? keyOfCampaign(campaign)
  const names = new Map(all.map((campaign) => [key(campaign), campaign.name]))
  const byTag = new Map<string, Campaign>()
  const tags = new Map<string, string>()
  // in order of their keys, so that all instances resolve a collision in the same way
  for (const campaign of [...all].sort((a, b) => (key(a) < key(b) ? -1 : 1))) {
    let tag = ""
    for (let n = 0; tag === "" || byTag.has(tag); n++) {
      tag = createHash("sha256")
        .update(`${key(campaign)} ${n}`)
        .digest("base64url")
        .slice(0, TAG_LENGTH)
    }
    byTag.set(tag, campaign)
    tags.set(campaign.name, tag)
  }
  const byName = new Map([
    ...all.map((campaign) => [campaign.WebCampaignId, campaign] as const),
    ...all.map((campaign) => [campaign.name, campaign] as const),
  ])
  return {
    all,
    default: all[0],
    find: (id) => (id === undefined || id === null || id === "" ? all[0] : byName.get(id)),
    ofTicket: (ticket) => byTag.get(tagOf(ticket)),
    newTicket: (campaign, secret) => secret + tags.get(campaign.name),
    tag: (campaign) => tags.get(campaign.name) ?? "",
    key,
    nameOf: (of) => names.get(of) ?? of,
  }
}

export const layer: Layer.Layer<Campaigns, never, Settings> = Layer.effect(
  Campaigns,
  Effect.map(Settings, makeCampaigns),
)
