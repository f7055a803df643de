/**
 * Gives the scripts of all rules to a server before any is needed, by SCRIPT LOAD: on every new connection, on each master of a
 * Cluster, and again after a server has forgotten them (SCRIPT FLUSH, a restart, a failover). A rule whose script is missing is
 * sent with its text, which takes another round trip; a gate that stops has no time for that.
 */
import { createHash } from "node:crypto"
import { Effect } from "effect"
import { type Cluster, Redis } from "ioredis"
import { lua } from "../rules/lua.generated.ts"
import type { SentRule } from "./batch.ts"
import { isReplyError, sendCommand } from "./send.ts"

/** How many scripts are on their way at a time: on a slow network the last of all at once would exceed a command's time. */
const SENT_AT_ONCE = 4

const sha1 = (text: string): string => createHash("sha1").update(text).digest("hex")

/** SHA-1 digests of the rules' Lua, for EVALSHA. A cache, and no state: the digest follows from the rule alone. */
const digests = new WeakMap<SentRule, string>()
export const digestOf = (rule: SentRule): string => {
  const known = digests.get(rule) ?? sha1(rule.lua)
  digests.set(rule, known)
  return known
}

let all: ReadonlyArray<{ readonly digest: string; readonly text: string }> | undefined
const scripts = () => {
  all ??= Object.values(lua).map((text) => ({ digest: sha1(text), text }))
  return all
}

/** Loads the scripts that this server does not have. */
const loadInto = (server: Redis): Effect.Effect<void, Error> =>
  Effect.gen(function* () {
    const digests = scripts().map(({ digest }) => digest)
    const known = yield* sendCommand((done) => server.call("SCRIPT", "EXISTS", ...digests, done))
    const missing = scripts().filter((_, i) => !Array.isArray(known) || known[i] !== 1)
    yield* Effect.forEach(missing, ({ text }) => sendCommand((done) => server.call("SCRIPT", "LOAD", text, done)), {
      concurrency: SENT_AT_ONCE,
      discard: true,
    })
  })

export interface Scripts {
  /**
   * Loads what is missing, on a Cluster at every master. Fails only when a server refuses. One that does not answer in time gets a script with
   * the first call that needs it.
   */
  readonly load: Effect.Effect<void, Error>
}

/** @param run runs an effect in the background */
export const makeScripts = (client: Redis | Cluster, run: (effect: Effect.Effect<void>) => void): Scripts => {
  const unlessUnanswered = (loading: Effect.Effect<void, Error>): Effect.Effect<void, Error> =>
    Effect.catchIf(
      loading,
      (error) => !isReplyError(error),
      () => Effect.void,
    )
  if (client instanceof Redis) return { load: unlessUnanswered(loadInto(client)) }
  /** the masters that have the scripts, for as long as their connection lasts */
  const loaded = new WeakSet<Redis>()
  const loadMaster = (server: Redis): Effect.Effect<void, Error> =>
    Effect.suspend(() => {
      if (loaded.has(server)) return Effect.void
      server.once("close", () => loaded.delete(server))
      return Effect.tap(loadInto(server), () => Effect.sync(() => loaded.add(server)))
    })
  const load = Effect.suspend(() =>
    Effect.forEach(client.nodes("master"), (server) => unlessUnanswered(loadMaster(server)), {
      concurrency: "unbounded",
      discard: true,
    }),
  )
  // the nodes were read anew: one of them may be a master since a moment ago
  client.on("refresh", () => {
    // before that, ioredis could not send its own first command
    if (client.status === "ready") run(Effect.ignore(load))
  })
  return { load }
}
