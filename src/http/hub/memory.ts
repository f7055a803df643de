/**
 * What a hub remembers beyond one connection, in the store, since a reconnect may reach another instance: which connection
 * tokens were negotiated and used, and which tickets a browser has registered. The stock widget registers once and never
 * again; what tells whose connection came back is the cookie of its browser, or, where cookies do not come, the token that the
 * first negotiation gave its page. Tickets are remembered for one browser at one origin: no other site's page gets them.
 */
import { createHash } from "node:crypto"
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
 * KEYS 1 token · ARGV 1 lifetime (ms) · Reply `used`, `unknown`, or the browser that it was negotiated for
 */
const claim: Script = {
  name: "hub.claim",
  numberOfKeys: 1,
  lua: `-- voicegate hub.claim
local state = redis.call('GET', KEYS[1])
if not state then return 'unknown' end
if state == 'used' then return 'used' end
redis.call('SET', KEYS[1], 'used', 'PX', ARGV[1])
return state
`,
  memory: (db, [key = ""], [millis]) => {
    const state = db.get(key)
    if (state === undefined) return "unknown"
    if (state === "used") return "used"
    db.set(key, "used", Number(millis))
    return state
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
/** A browser at one origin; the origin is digested, since it is a text from outside. */
const browserKey = ({ id, origin }: Browser): string =>
  `vg:{hub:${id}.${createHash("sha256").update(origin.toLowerCase()).digest("base64url").slice(0, 22)}}:tickets`

/** A browser, or a page that keeps no cookies, at one origin; programs that send no `Origin` have the empty one. */
export interface Browser {
  readonly id: string
  readonly origin: string
}

/** What became of a negotiated token. An instance of an older version negotiated for no browser. */
export interface Claimed {
  readonly state: "ok" | "used" | "unknown"
  readonly browser: string | undefined
}

const BROWSER = /^[A-Za-z0-9_-]{22}$/

export interface HubMemory {
  /** Notes a token that was negotiated for a browser. */
  readonly negotiated: (token: string, browser: string) => Effect.Effect<void, StoreUnavailable>
  readonly claim: (token: string) => Effect.Effect<Claimed, StoreUnavailable>
  readonly remember: (browser: Browser, ticket: string) => Effect.Effect<void, StoreUnavailable>
  /** the browser's last tickets, the newest first */
  readonly recall: (browser: Browser) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
}

export const makeHubMemory: Effect.Effect<HubMemory, never, Store> = Effect.map(Store, (store) => ({
  negotiated: (token, browser) => store.set(tokenKey(token), browser, TOKEN_MILLIS),
  claim: (token) =>
    Effect.map(store.run(claim, [tokenKey(token)], [TOKEN_MILLIS]), (reply): Claimed => {
      const state = text(reply)
      if (state === "used" || state === "unknown") return { state, browser: undefined }
      return { state: "ok", browser: BROWSER.test(state) ? state : undefined }
    }),
  remember: (browser, ticket) =>
    Effect.flatMap(store.now, (now) =>
      Effect.asVoid(store.run(remember, [browserKey(browser)], [now, ticket, BROWSER_MILLIS])),
    ),
  recall: (browser) => Effect.map(store.run(recall, [browserKey(browser)], []), (reply) => list(reply).map(text)),
}))
