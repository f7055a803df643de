/**
 * What a Redis Cluster requires of a step: all its keys are in one hash slot, and it touches no others. One server and the memory store take
 * any step, so nothing there tells of one that a Cluster refuses.
 */
import { Effect } from "effect"
import type { Db } from "../../src/store/rules/db.ts"
import type { Ask, Store } from "../../src/store/Store.ts"

/** What a Cluster hashes of a key: what is between the first braces, if there is anything. */
export const hashTag = (key: string): string => /^[^{]*\{([^}]+)\}/.exec(key)?.[1] ?? key

type Keys = Pick<Ask<object, object>, "keys" | "ownKeys">

const NO_KEYS: ReadonlyArray<string> = []

/** What is wrong with the keys of a step; undefined if a Cluster takes it. */
export const crossing = (rule: string, { keys, ownKeys = NO_KEYS }: Keys): string | undefined => {
  const tags = new Set([...keys, ...ownKeys].map(hashTag))
  return tags.size > 1
    ? `${rule} has keys of several hash slots, which a Redis Cluster refuses: ${[...tags].join(", ")}`
    : undefined
}

/** Fails the test run too: a gate only logs what fails in its background. */
const dieLoudly = (why: string) =>
  Effect.suspend(() => {
    const error = new Error(why)
    void Promise.reject(error)
    return Effect.die(error)
  })

/** A store that refuses a step with keys of several hash slots. */
export const inOneSlot = (store: Store["Service"]): Store["Service"] => ({
  ...store,
  run: (rule, ask) => {
    const wrong = crossing(rule.name, ask)
    return wrong === undefined ? store.run(rule, ask) : dieLoudly(wrong)
  },
})

/** The commands without a key. */
const KEYLESS: ReadonlySet<unknown> = new Set(["time", "publish"])

const declaredOnly = (db: Db, rule: string, declared: ReadonlySet<unknown>): Db =>
  new Proxy(db, {
    get: (target, name) => {
      const command: unknown = Reflect.get(target, name)
      if (typeof command !== "function") return command
      return (...args: ReadonlyArray<unknown>) => {
        if (!KEYLESS.has(name) && !declared.has(args[0]))
          throw new Error(`${rule} touches a key that it was not given: ${args[0]}`)
        return Reflect.apply(command, target, args)
      }
    },
  })

/** A store in memory whose steps touch only the keys that they are given. */
export const onDeclaredKeys = (memory: Store["Service"]): Store["Service"] => ({
  ...memory,
  run: (rule, ask) => {
    const declared = new Set<unknown>([...ask.keys, ...(ask.ownKeys ?? NO_KEYS)])
    return memory.run(
      { ...rule, run: (db, ...others) => rule.run(declaredOnly(db, rule.name, declared), ...others) },
      ask,
    )
  },
})

/** A store in memory that takes what a Cluster takes. */
export const asOnCluster = (memory: Store["Service"]): Store["Service"] => ({
  ...inOneSlot(onDeclaredKeys(memory)),
  crossSlot: false,
})
