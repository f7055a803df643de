/**
 * Gates that serve the same campaign with another database of the same Redis server. Each would count its own slots, and none
 * sees the other's keys; but what is published on a server is heard on all of its databases, so each gate says there which
 * campaigns it serves, as digests, and on which database, by the id that it found there.
 *
 * Another server is not heard: of that only webhooks of unknown sessions tell (`unknown-ends.ts`).
 */
import { createHash } from "node:crypto"
import { Effect, Option, Schema, type Scope } from "effect"
import type { Campaign } from "../Settings.ts"
import { Store } from "../Store.ts"
import type { Campaigns } from "./campaigns.ts"
import { ANNOUNCE_CHANNEL } from "./gates-shared.ts"
import { type Instance, shown } from "./instance.ts"
import type { Seen } from "./lasting.ts"

/** How often a gate says which campaigns it serves. */
export const ANNOUNCE_MILLIS = 30_000
/** A gate that was not heard for so long, twice its time and a little, is gone. */
const HEARD_MILLIS = 75_000
/** The most campaigns that a gate announces, and the most gates that are remembered. */
const CAMPAIGNS_MAX = 256
const GATES_MAX = 200
/** What is longer was written by nobody who is meant. */
const MESSAGE_MAX = 16_384

const DIGEST_LENGTH = 16

const Announcement = Schema.fromJsonString(
  Schema.Struct({ id: Schema.String, host: Schema.String, campaigns: Schema.Array(Schema.String) }),
)
const decode = Schema.decodeUnknownOption(Announcement)
const SHOWABLE = /^[\w.-]{1,64}$/

/** Names a campaign of a platform to those who know it, and to nobody else. */
const digestOf = ({ BaseUrl, BusinessId, WebCampaignId }: Campaign): string =>
  createHash("sha256")
    .update(JSON.stringify([BaseUrl, BusinessId, WebCampaignId]))
    .digest("base64url")
    .slice(0, DIGEST_LENGTH)

interface Other {
  readonly instance: Instance
  /** the id of its database */
  readonly store: string
  /** names of the campaigns that it serves too */
  readonly campaigns: string
  readonly at: number
}

export interface OtherDatabases {
  /** What this gate announces. */
  readonly announcement: string
  /** Who was heard lately on another database than this one: the campaigns that they serve too, with the instances. */
  readonly seen: (store: string, now: number) => Seen
}

/** Listens until the scope closes. */
export const makeOtherDatabases = (
  { all }: Campaigns,
  own: Instance,
): Effect.Effect<OtherDatabases, never, Store | Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* Store
    const names = new Map(all.map((campaign) => [digestOf(campaign), campaign.name]))
    /** heard since the last look, the latest of each */
    const inbox = new Map<string, Omit<Other, "at">>()
    const others = new Map<string, Other>()

    yield* store.subscribe(ANNOUNCE_CHANNEL, (message) => {
      if (message.length > MESSAGE_MAX) return
      const blank = message.indexOf(" ")
      const said = decode(message.slice(blank + 1))
      if (Option.isNone(said)) return
      const { campaigns, host, id } = said.value
      if (id === own.id || !SHOWABLE.test(id) || (inbox.size === GATES_MAX && !inbox.has(id))) return
      const common = [...names].flatMap(([digest, name]) => (campaigns.includes(digest) ? [name] : []))
      const instance = { id, host: SHOWABLE.test(host) ? host : "unnamed" }
      inbox.set(id, { instance, store: message.slice(0, blank), campaigns: common.join(", ") })
    })

    return {
      announcement: JSON.stringify({ ...own, campaigns: [...names.keys()].slice(0, CAMPAIGNS_MAX) }),
      seen: (here, now) => {
        for (const [id, other] of inbox)
          if (others.has(id) || others.size < GATES_MAX) others.set(id, { ...other, at: now })
        inbox.clear()
        const seen = new Map<string, ReadonlyArray<string>>()
        for (const [id, { at, campaigns, instance, store }] of others) {
          if (now - at > HEARD_MILLIS) others.delete(id)
          else if (store !== here && campaigns !== "")
            seen.set(campaigns, [...(seen.get(campaigns) ?? []), shown(instance)])
        }
        return seen
      },
    }
  })
