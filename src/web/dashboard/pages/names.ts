/** Resolves ids to names, for lists that show both. */
import type { Business } from "../../../platform/http/dashboard/shapes.ts"
import { api } from "../client.ts"
import type { Option } from "../parts/Filter.tsx"
import { useLoad } from "../parts/load.ts"

export interface Names {
  /** the id itself if it no longer has a name */
  readonly business: (id: string) => string
  readonly campaign: (id: string) => string
  readonly businesses: ReadonlyArray<Option>
}

export const useNames = (): Names => {
  const { value = [] } = useLoad(() => api.businesses.list(), "names")
  const find = (
    id: string,
    of: (business: Business) => ReadonlyArray<{ readonly id: string; readonly name: string }>,
  ) => value.flatMap(of).find((each) => each.id === id)?.name ?? id
  return {
    business: (id) => find(id, (business) => [business]),
    campaign: (id) => find(id, ({ campaigns }) => campaigns),
    businesses: value.map(({ id, name }) => ({ value: id, label: name })),
  }
}
