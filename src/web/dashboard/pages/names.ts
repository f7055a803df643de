/** Resolves ids to names, for lists that show both. */
import { Effect } from "effect"
import type { Business } from "../../../platform/http/dashboard/shapes.ts"
import type { ApiKey } from "../../../platform/keys/ApiKey.ts"
import { api } from "../client.ts"
import type { Option } from "../parts/Filter.tsx"
import { useLoad } from "../parts/load.ts"

export interface Names {
  /** the id itself if it no longer has a name */
  readonly business: (id: string) => string
  readonly campaign: (id: string) => string
  /** of a business, a campaign or a key */
  readonly any: (id: string) => string
  /** whether it is one that exists */
  readonly has: (id: string) => boolean
  /** the text with names instead of ids */
  readonly inText: (text: string) => string
  readonly businesses: ReadonlyArray<Option>
}

const NONE: { readonly businesses: ReadonlyArray<Business>; readonly keys: ReadonlyArray<ApiKey> } = {
  businesses: [],
  keys: [],
}

const load = () => Effect.all({ businesses: api.businesses.list(), keys: api.keys.list() }, { concurrency: 2 })

export const useNames = (): Names => {
  const { value = NONE } = useLoad(load, "names")
  const { businesses, keys } = value
  const all = new Map(
    [...businesses, ...businesses.flatMap(({ campaigns }) => campaigns), ...keys].map(({ id, name }) => [id, name]),
  )
  const nameOf = (id: string): string => all.get(id) ?? id
  return {
    business: nameOf,
    campaign: nameOf,
    any: nameOf,
    has: (id) => all.has(id),
    inText: (text) => [...all].reduce((named, [id, name]) => named.replaceAll(id, () => name), text),
    businesses: businesses.map(({ id, name }) => ({ value: id, label: name })),
  }
}
