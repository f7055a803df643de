/**
 * Arranges Lua declarations so that a rule pays only for what it uses. Redis runs the whole text of a rule with every call, and each
 * function costs then, even if nothing calls it: its closure is created.
 *
 * So what only one function needs is declared inside of that one, and is created by its first call. A function that many runs of
 * a rule do not call is marked with `@lazy` in its comment: what only lazy functions need is declared inside of each of them.
 */

/** Lua declarations by name, each after those that it needs. */
export type Declarations = ReadonlyMap<string, string>

/** A declaration, and those declared inside of it. */
export interface Nested {
  readonly name: string
  readonly inside: ReadonlyArray<Nested>
}

/** Fewer inner functions are not worth the detour of the first call. A lazy function has any number. */
const MIN_INSIDE = 2
/** A function of Lua 5.1 may use this many variables from outside of it, those of its inner functions and its own name included. */
const MAX_UPVALUES = 60

const isFunction = (lua: string): boolean => lua.startsWith("local function ")

/** The declarations outside that a declaration and those inside of it use. */
const usedFromOutside = (
  { inside, name }: Nested,
  usedBy: (name: string) => ReadonlySet<string>,
): ReadonlySet<string> => {
  const declared = new Set([name, ...inside.map((each) => each.name)])
  const used = [...usedBy(name), ...inside.flatMap((each) => [...usedFromOutside(each, usedBy)])]
  return new Set(used.filter((each) => !declared.has(each)))
}

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
): ReadonlyArray<Nested> => {
  const check = (each: Nested): void => {
    const { size } = usedFromOutside(each, usedBy)
    const own = each.inside.length > 0 || usedBy(each.name).has(each.name) ? 1 : 0
    if (isFunction(all.get(each.name) ?? "") && size + own > MAX_UPVALUES) {
      throw new Error(`${each.name} would use ${size + own} variables from outside; Lua allows ${MAX_UPVALUES}`)
    }
    for (const inner of each.inside) check(inner)
  }
  const arranged = arrange(all, usedBy, entries, lazy, new Set())
  for (const each of arranged) check(each)
  return arranged
}

/** @param visible the declarations outside, which need no copy */
const arrange = (
  all: Declarations,
  usedBy: (name: string) => ReadonlySet<string>,
  entries: ReadonlySet<string>,
  lazy: ReadonlySet<string>,
  visible: ReadonlySet<string>,
): ReadonlyArray<Nested> => {
  const inOrder = reachable(all, usedBy, entries, new Set([...lazy, ...visible])).filter((name) => !visible.has(name))
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
      new Set([...within].flatMap((name) => [...usedBy(name)]).filter((name) => !within.has(name))).size >= MAX_UPVALUES
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
