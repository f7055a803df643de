/**
 * Arranges Lua declarations so that a rule pays only for what it uses. Redis runs the whole text of a rule with every call, and each
 * function costs then, even if nothing calls it: its closure is created.
 *
 * So what only one function needs is declared inside of that one, and is created by its first call. A function that many calls of
 * a rule do not reach is marked with `@lazy` in its comment: what several lazy functions need and no other one is declared inside of each.
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

/** All that `entries` need, in order of declaration; what a function needs that is in `closed` is left out. */
const reachable = (
  all: Declarations,
  usedBy: (name: string) => ReadonlySet<string>,
  entries: ReadonlySet<string>,
  closed: ReadonlySet<string>,
): ReadonlyArray<string> => {
  const found = new Set<string>()
  const visit = (name: string): void => {
    if (found.has(name)) return
    found.add(name)
    if (!closed.has(name)) for (const each of usedBy(name)) visit(each)
  }
  for (const each of entries) visit(each)
  return [...all.keys()].filter((name) => found.has(name))
}

/**
 * @param usedBy the declarations that a declaration uses directly
 * @param entries those that the rule uses directly
 * @param lazy the functions marked with `@lazy`
 */
export const nest = (
  all: Declarations,
  usedBy: (name: string) => ReadonlySet<string>,
  entries: ReadonlySet<string>,
  lazy: ReadonlySet<string> = new Set(),
): ReadonlyArray<Nested> => arrange(all, usedBy, entries, lazy, new Set())

/** @param visible the declarations outside, which need no copy */
const arrange = (
  all: Declarations,
  usedBy: (name: string) => ReadonlySet<string>,
  entries: ReadonlySet<string>,
  lazy: ReadonlySet<string>,
  visible: ReadonlySet<string>,
): ReadonlyArray<Nested> => {
  const inOrder = reachable(all, usedBy, entries, lazy).filter((name) => !visible.has(name))
  const users = new Map<string, Array<string>>(inOrder.map((name) => [name, []]))
  for (const name of inOrder) {
    if (!lazy.has(name)) for (const used of usedBy(name)) if (used !== name) users.get(used)?.push(name)
  }

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
  const usesTooMuch = (host: string, inside: ReadonlyArray<string>): boolean => {
    const within = new Set([host, ...inside])
    return (
      new Set([...within].flatMap((name) => [...usedBy(name)]).filter((name) => !within.has(name))).size >
      MAX_FROM_OUTSIDE
    )
  }
  const worthwhile = new Set(
    inOrder.filter((host) => insideOf(host).length >= MIN_INSIDE && !usesTooMuch(host, insideOf(host))),
  )
  const within = (host: string | undefined, outside: ReadonlySet<string>): ReadonlyArray<Nested> => {
    const seen = new Set(outside)
    return inOrder
      .filter((name) => hosts.get(name)?.find((each) => worthwhile.has(each)) === host)
      .map((name) => {
        seen.add(name)
        if (worthwhile.has(name)) return { name, inside: within(name, seen) }
        return { name, inside: lazy.has(name) ? arrange(all, usedBy, usedBy(name), lazy, seen) : [] }
      })
  }
  return within(undefined, visible)
}
