/** Finds sections for the search field of `page.ts`, which loads this script when the reader comes to the field, and this the other pages. */
import { type Found, makeFind } from "./find.ts"
import { sectionsOf } from "./sections.ts"

/** The pages that each page links. The API reference has a form of its own. */
const addresses = (): ReadonlyArray<string> =>
  [...document.querySelectorAll<HTMLAnchorElement>(".documents a")]
    .map(({ href }) => href)
    .filter((href) => !/\/api$/.test(href))

const load = async (): Promise<(query: string) => ReadonlyArray<Found>> => {
  const pages = addresses().map(async (address) => {
    const response = await fetch(address)
    if (!response.ok) throw new Error(`${address}: ${response.status}`)
    return sectionsOf(address, await response.text())
  })
  return makeFind((await Promise.all(pages)).flat())
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
