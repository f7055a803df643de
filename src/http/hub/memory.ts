/**
 * What a hub remembers beyond one connection, in the store, since a reconnect may reach another instance: which connection
 * tokens were negotiated and used, and which tickets a browser has registered. The stock widget registers once and never
 * again; what tells whose connection came back is the cookie of its browser, or, where cookies do not come, the token that the
 * first negotiation gave its page. Tickets are remembered for one browser at one origin: no other site's page gets them.
 */
import { createHash } from "node:crypto"
import { Effect, Schema } from "effect"
import { runs } from "../../rules/rules.ts"
import type { StoreUnavailable } from "../../Session.ts"
import { Store } from "../../Store.ts"
import { NO_CONTEXT, ruleOf } from "../../store/rule.ts"

/** A negotiated token must be used in this time. */
const TOKEN_MILLIS = 60_000
/** A browser's tickets are remembered for this time after the last registration. */
const BROWSER_MILLIS = 24 * 3_600_000

/** At most so many of a browser's tickets are told. */
const TICKETS_MAX = 10

const claim = ruleOf(
  "hub.claim",
  runs["hub.claim"],
  Schema.Struct({
    state: Schema.Literals(["ok", "used", "unknown"]),
    browser: Schema.optionalKey(Schema.String),
  }),
)
const remember = ruleOf("hub.remember", runs["hub.remember"], Schema.Literal(true))
const recall = ruleOf(
  "hub.recall",
  runs["hub.recall"],
  Schema.Struct({ tickets: Schema.optionalKey(Schema.Array(Schema.String)) }),
)

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
    Effect.gen(function* () {
      const now = yield* store.now
      const ask = { keys: [tokenKey(token)], now, context: NO_CONTEXT, call: { lifetime: TOKEN_MILLIS } }
      const { browser = "", state } = yield* store.run(claim, ask)
      return { state, browser: BROWSER.test(browser) ? browser : undefined }
    }),
  remember: (browser, ticket) =>
    Effect.gen(function* () {
      const now = yield* store.now
      const call = { ticket, lifetime: BROWSER_MILLIS }
      yield* store.run(remember, { keys: [browserKey(browser)], now, context: NO_CONTEXT, call })
    }),
  recall: (browser) =>
    Effect.gen(function* () {
      const now = yield* store.now
      const ask = { keys: [browserKey(browser)], now, context: NO_CONTEXT, call: { most: TICKETS_MAX } }
      const { tickets = [] } = yield* store.run(recall, ask)
      return tickets
    }),
}))
