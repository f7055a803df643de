/** Which page is shown is in the address, behind the `#`: the back button works, and a reload stays where it was. */
import { createStore } from "../shared/store.ts"

export const PAGES = ["keys", "businesses", "conversations", "live", "webhooks", "audit", "account"] as const
export type PageName = (typeof PAGES)[number]

export interface Route {
  readonly page: PageName
  /** what of the page's things is shown, such as a conversation */
  readonly id: string | undefined
  readonly query: URLSearchParams
}

const decode = (part: string): string | undefined => {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

const read = (): Route => {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2)
  const [name, id] = path.split("/", 2)
  const page = PAGES.find((each) => each === name) ?? "keys"
  return { page, id: id === undefined || id === "" ? undefined : decode(id), query: new URLSearchParams(query) }
}

export const route = createStore<Route>(read())
addEventListener("hashchange", () => route.set(read()))

/** The address of a page, for a link; values that are empty are left out. */
export const href = (page: PageName, id?: string, query: Readonly<Record<string, string>> = {}): string => {
  const filled = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""))
  const path = id === undefined ? page : `${page}/${encodeURIComponent(id)}`
  return filled.size === 0 ? `#/${path}` : `#/${path}?${filled}`
}

/** Goes to a page as if its link had been followed; `replace` leaves no step to come back to. */
export const go = (to: string, replace = false): void => {
  if (replace) location.replace(to)
  else location.hash = to
}
