/**
 * Arranges Lua declarations so that a rule pays only for what it uses. Redis runs the whole text of a rule with every call, and each
 * function costs then, even if nothing calls it: its closure is created.
 *
 * So a function that only one other function needs is declared inside of that one, which is created by its first call.
 */

/** Lua declarations by name, each after those that it needs. */
export type Declarations = ReadonlyMap<string, string>

/** A declaration, and those declared inside of it. */
export interface Nested {
  readonly name: string
  readonly inside: ReadonlyArray<Nested>
}

/** Fewer inner functions are not worth the detour of the first call. */
const MIN_INSIDE = 2
/** A function of Lua 5.1 may use 60 variables from outside of it, those of its inner functions included; one is its own name. */
const MAX_FROM_OUTSIDE = 59

const isFunction = (lua: string): boolean => lua.startsWith("local function ")

/**
 * @param usedBy the declarations that a declaration uses directly
 * @param entries those that the rule uses directly
 */
export const nest = (
  all: Declarations,
  usedBy: (name: string) => ReadonlySet<string>,
  entries: ReadonlySet<string>,
): ReadonlyArray<Nested> => {
  const needed = new Set<string>()
  const visit = (name: string): void => {
    if (needed.has(name)) return
    needed.add(name)
    for (const each of usedBy(name)) visit(each)
  }
  for (const each of entries) visit(each)
  const inOrder = [...all.keys()].filter((name) => needed.has(name))
  const users = new Map<string, Array<string>>(inOrder.map((name) => [name, []]))
  for (const name of inOrder) for (const used of usedBy(name)) if (used !== name) users.get(used)?.push(name)

  /** the functions inside of which a declaration could be, from the inside out; those that use it come after it in the text */
  const hosts = new Map<string, ReadonlyArray<string>>()
  for (const name of inOrder.toReversed()) {
    const chains = entries.has(name) ? [[]] : (users.get(name) ?? []).map((user) => [user, ...(hosts.get(user) ?? [])])
    const [first = [], ...others] = chains
    hosts.set(
      name,
      first.filter((host) => isFunction(all.get(host) ?? "") && others.every((chain) => chain.includes(host))),
    )
  }
  const insideOf = (host: string): ReadonlyArray<string> => inOrder.filter((name) => hosts.get(name)?.includes(host))
  const isWorthwhile = (host: string): boolean => {
    const inside = new Set([host, ...insideOf(host)])
    const fromOutside = new Set([...inside].flatMap((name) => [...usedBy(name)]).filter((name) => !inside.has(name)))
    return inside.size > MIN_INSIDE && fromOutside.size <= MAX_FROM_OUTSIDE
  }
  const worthwhile = new Set(inOrder.filter(isWorthwhile))
  const within = (host: string | undefined): ReadonlyArray<Nested> =>
    inOrder
      .filter((name) => hosts.get(name)?.find((each) => worthwhile.has(each)) === host)
      .map((name) => ({ name, inside: worthwhile.has(name) ? within(name) : [] }))
  return within(undefined)
}
