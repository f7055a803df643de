/** The address after `#` names the page that is shown: the back button works, and a reload stays on the page. */
import { signal } from "@preact/signals"

/** What happens, what exists, and what is set up once. */
export const GROUPS = [
  ["overview", "conversations", "live"],
  ["businesses", "keys", "webhooks", "audit"],
  ["setup", "account"],
] as const
const PAGES = GROUPS.flat()
export type PageName = (typeof PAGES)[number]

export interface Route {
  readonly page: PageName
  /** the id of the item that the page shows, such as a conversation */
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
  const page = PAGES.find((each) => each === name) ?? "overview"
  return { page, id: id === undefined || id === "" ? undefined : decode(id), query: new URLSearchParams(query) }
}

export const route = signal<Route>(read())
addEventListener("hashchange", () => {
  route.value = read()
})

/** Empty values are omitted. */
export const href = (page: PageName, id?: string, query: Readonly<Record<string, string>> = {}): string => {
  const filled = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""))
  const path = id === undefined ? page : `${page}/${encodeURIComponent(id)}`
  return filled.size === 0 ? `#/${path}` : `#/${path}?${filled}`
}

/** `replace` adds no entry to the history. */
export const go = (to: string, replace = false): void => {
  if (replace) location.replace(to)
  else location.hash = to
}
