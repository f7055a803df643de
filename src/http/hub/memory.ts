/**
 * What a hub remembers beyond one connection, in the store, since a reconnect may reach another instance: which connection
 * tokens were negotiated and used, and which tickets a browser has registered. The stock widget registers once and never
 * again; the cookie of its browser is what tells whose connection came back.
 */
import { Effect } from "effect"
import type { StoreUnavailable } from "../../Session.ts"
import { type Script, Store } from "../../Store.ts"
import { list, text } from "../../store/reply.ts"

/** A negotiated token must be used in this time. */
const TOKEN_MILLIS = 60_000
/** A browser's tickets are remembered for this time after the last registration. */
const BROWSER_MILLIS = 24 * 3_600_000

/**
 * Uses a negotiated token, once.
 *
 * KEYS 1 token · ARGV 1 lifetime (ms) · Reply `ok`, `used` or `unknown`
 */
const claim: Script = {
  name: "hub.claim",
  numberOfKeys: 1,
  lua: `-- voicegate hub.claim
local state = redis.call('GET', KEYS[1])
if not state then return 'unknown' end
if state == 'used' then return 'used' end
redis.call('SET', KEYS[1], 'used', 'PX', ARGV[1])
return 'ok'
`,
  memory: (db, [key = ""], [millis]) => {
    const state = db.get(key)
    if (state === undefined) return "unknown"
    if (state === "used") return "used"
    db.set(key, "used", Number(millis))
    return "ok"
  },
}

/**
 * Remembers a ticket of a browser.
 *
 * KEYS 1 tickets (zset by time) · ARGV 1 now · 2 ticket · 3 lifetime (ms) · Reply 1
 */
const remember: Script = {
  name: "hub.remember",
  numberOfKeys: 1,
  lua: `-- voicegate hub.remember
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', tonumber(ARGV[1]) - tonumber(ARGV[3]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
`,
  memory: (db, [key = ""], [now, ticket = "", millis]) => {
    db.zadd(key, Number(now), ticket)
    db.zremrangebyscore(key, Number.NEGATIVE_INFINITY, Number(now) - Number(millis))
    db.pexpire(key, Number(millis))
    return 1
  },
}

/**
 * The last ten tickets of a browser, the newest first.
 *
 * KEYS 1 tickets · Reply the tickets
 */
const recall: Script = {
  name: "hub.recall",
  numberOfKeys: 1,
  lua: `-- voicegate hub.recall
return redis.call('ZREVRANGE', KEYS[1], 0, 9)
`,
  memory: (db, [key = ""]) =>
    [...db.zrangebyscore(key, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)]
      .reverse()
      .slice(0, 10),
}

/** The scripts, for the differential test. */
export const scripts = { claim, remember, recall }

const tokenKey = (token: string): string => `vg:{hub:${token}}:token`
const browserKey = (browser: string): string => `vg:{hub:${browser}}:tickets`

export interface HubMemory {
  readonly negotiated: (token: string) => Effect.Effect<void, StoreUnavailable>
  readonly claim: (token: string) => Effect.Effect<"ok" | "used" | "unknown", StoreUnavailable>
  readonly remember: (browser: string, ticket: string) => Effect.Effect<void, StoreUnavailable>
  /** the browser's last tickets, the newest first */
  readonly recall: (browser: string) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
}

export const makeHubMemory: Effect.Effect<HubMemory, never, Store> = Effect.map(Store, (store) => ({
  negotiated: (token) => store.set(tokenKey(token), "new", TOKEN_MILLIS),
  claim: (token) =>
    Effect.map(store.run(claim, [tokenKey(token)], [TOKEN_MILLIS]), (reply) =>
      reply === "ok" || reply === "used" ? reply : "unknown",
    ),
  remember: (browser, ticket) =>
    Effect.flatMap(store.now, (now) =>
      Effect.asVoid(store.run(remember, [browserKey(browser)], [now, ticket, BROWSER_MILLIS])),
    ),
  recall: (browser) => Effect.map(store.run(recall, [browserKey(browser)], []), (reply) => list(reply).map(text)),
}))
