/**
 * Detects gates that serve the same campaign with another database of the same Redis server. They would count slots separately
 * and cannot see each other's keys. But Redis delivers published messages across all databases of a server, so each gate
 * announces digests of its campaigns and the id of its database.
 *
 * Gates on another server cannot be detected this way; webhooks of unknown sessions are the only sign (`calls/unknown-sessions.ts`).
 */

import { createHash } from "node:crypto"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { ageOf } from "../../lib/age.ts"
import type { Campaign } from "../../settings/Settings.ts"
import { Store } from "../../store/Store.ts"
import { Campaigns } from "../Campaigns.ts"
import type { Observed } from "./debounce.ts"
import { Instance, shown } from "./Instance.ts"
import { ANNOUNCE_CHANNEL } from "./rules/membership.ts"

export const ANNOUNCE_MILLIS = 30_000
/** A gate that has announced nothing for this time is gone: two intervals and a margin (ms). */
const EXPIRY_MILLIS = 75_000
/** Maximum campaigns in an announcement, and maximum gates remembered. */
const CAMPAIGNS_MAX = 256
const GATES_MAX = 200
/** Longer messages do not come from a gate and are ignored. */
const MESSAGE_MAX = 16_384

const DIGEST_LENGTH = 16

const Announcement = Schema.fromJsonString(
  Schema.Struct({ id: Schema.String, host: Schema.String, campaigns: Schema.Array(Schema.String) }),
)
const decode = Schema.decodeUnknownOption(Announcement)
const SHOWABLE = /^[\w.-]{1,64}$/

/** A digest by which other gates recognise a campaign they also serve, without disclosing it. */
const digestOf = ({ BaseUrl, BusinessId, WebCampaignId }: Campaign): string =>
  createHash("sha256")
    .update(JSON.stringify([BaseUrl, BusinessId, WebCampaignId]))
    .digest("base64url")
    .slice(0, DIGEST_LENGTH)

interface Other {
  readonly instance: Instance["Service"]
  /** the id of its database */
  readonly store: string
  /** names of the campaigns that both serve, comma-separated */
  readonly campaigns: string
  readonly at: number
}

export class OtherDatabases extends Context.Service<
  OtherDatabases,
  {
    /** This gate's announcement, encoded. */
    readonly announcement: string
    /** Gates seen recently on a database other than `store`: the campaigns that both serve, with the instances. */
    readonly seen: (store: string, now: number) => Observed
  }
>()("voicegate/gatekeeper/OtherDatabases") {}

/** Subscribes to announcements until the scope closes. */
export const layer: Layer.Layer<OtherDatabases, never, Campaigns | Instance | Store> = Layer.effect(
  OtherDatabases,
  Effect.gen(function* () {
    const { all } = yield* Campaigns
    const own = yield* Instance
    const store = yield* Store
    const names = new Map(all.map((campaign) => [digestOf(campaign), campaign.name]))
    /** announcements since `seen` was last called, the latest of each gate */
    const inbox = new Map<string, Omit<Other, "at">>()
    const others = new Map<string, Other>()

    yield* store.subscribe(ANNOUNCE_CHANNEL, (message) => {
      if (message.length > MESSAGE_MAX) return
      const space = message.indexOf(" ")
      const decoded = decode(message.slice(space + 1))
      if (Option.isNone(decoded)) return
      const { campaigns, host, id } = decoded.value
      if (id === own.id || !SHOWABLE.test(id) || (inbox.size === GATES_MAX && !inbox.has(id))) return
      const common = [...names].flatMap(([digest, name]) => (campaigns.includes(digest) ? [name] : []))
      const instance = { id, host: SHOWABLE.test(host) ? host : "unnamed" }
      inbox.set(id, { instance, store: message.slice(0, space), campaigns: common.join(", ") })
    })

    return {
      announcement: JSON.stringify({ ...own, campaigns: [...names.keys()].slice(0, CAMPAIGNS_MAX) }),
      seen: (here, now) => {
        for (const [id, other] of inbox)
          if (others.has(id) || others.size < GATES_MAX) others.set(id, { ...other, at: now })
        inbox.clear()
        const seen = new Map<string, ReadonlyArray<string>>()
        for (const [id, { at, campaigns, instance, store }] of others) {
          if (ageOf(at, now) > EXPIRY_MILLIS) others.delete(id)
          else if (store !== here && campaigns !== "")
            seen.set(campaigns, [...(seen.get(campaigns) ?? []), shown(instance)])
        }
        return seen
      },
    }
  }),
)
