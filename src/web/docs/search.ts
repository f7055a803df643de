/** Finds sections for the search field of `page.ts`, which loads this script and the sections' texts when the reader comes to the field. */
import { type Found, makeFind, type Searched } from "./find.ts"

const load = async (): Promise<(query: string) => ReadonlyArray<Found>> => {
  const response = await fetch(new URL("search.json", import.meta.url))
  if (!response.ok) throw new Error(`search.json: ${response.status}`)
  const sections: ReadonlyArray<Searched> = await response.json()
  return makeFind(sections)
}

let loading: ReturnType<typeof load> | undefined

/** The sections that a query finds. When they cannot be loaded, the next call tries again. */
export const search = async (query: string): Promise<ReadonlyArray<Found>> => {
  loading ??= load().catch((error: unknown) => {
    loading = undefined
    throw error
  })
  return (await loading)(query)
}
