/**
 * Divides what a rule needs into two sections of its Lua, because Redis runs the whole text with every call, and each function costs then,
 * even if nothing calls it: its closure is created.
 *
 * - The first has what nearly every run uses: local functions and constants.
 * - The second, the table `lazy`, has what few runs use: each is created when it is first used. A function that many runs of a rule do
 *   not call is marked with `@lazy` in its comment; it and everything that it uses are in this section.
 */
import type { Declarations } from "./compile.ts"

export interface Sections {
  readonly local: ReadonlyArray<string>
  readonly lazy: ReadonlyArray<string>
}

/** A function of Lua 5.1 may have this many local variables, and use this many from outside of it. */
const MAX_LOCALS = 190
const MAX_UPVALUES = 60

/** All that `entries` use, in order of declaration; without what those in `closed` use, and without those themselves. */
const reachable = (
  all: Declarations,
  entries: Iterable<string>,
  closed: ReadonlySet<string> = new Set(),
): ReadonlyArray<string> => {
  const found = new Set<string>()
  const visit = (name: string): void => {
    if (found.has(name) || closed.has(name)) return
    found.add(name)
    for (const each of all.get(name)?.uses ?? []) visit(each)
  }
  for (const each of entries) visit(each)
  return [...all.keys()].filter((name) => found.has(name))
}

/** @param entries what the rule uses directly */
export const sectionsOf = (all: Declarations, entries: ReadonlyArray<string>, lazy: ReadonlySet<string>): Sections => {
  const local = reachable(all, entries, lazy)
  if (local.length > MAX_LOCALS) {
    throw new Error(`${entries.join(", ")} use ${local.length} declarations: mark some as @lazy`)
  }
  for (const name of local) {
    const size = all.get(name)?.isFunction === true ? (all.get(name)?.uses.size ?? 0) : 0
    if (size > MAX_UPVALUES) throw new Error(`${name} uses ${size} declarations; Lua allows ${MAX_UPVALUES}`)
  }
  const used = new Set([...entries, ...local.flatMap((name) => [...(all.get(name)?.uses ?? [])])])
  return {
    local,
    lazy: reachable(
      all,
      [...used].filter((name) => lazy.has(name)),
    ),
  }
}
