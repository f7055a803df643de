/**
 * The hub's state in the store, where every instance finds it after a reconnect: the connection tokens that were negotiated and used,
 * and the tickets that a browser has registered. The stock widget registers only once. A reconnect is identified by the browser's
 * cookie or, if cookies are blocked, by the token from the page's first negotiation. Tickets are stored by browser and origin,
 * so that another site's page cannot get them.
 *
 * Whoever negotiates takes memory of the store that all share. So the id of a browser without a ticket is kept for minutes only, and only a few
 * registrations of a ticket are remembered in an hour, under however many ids it is registered.
 */
import { createHash } from "node:crypto"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { makeWindows } from "../../lib/windows.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { NO_CONTEXT, ruleOf } from "../../store/rule.ts"
import { runPlain } from "../../store/rules/run.ts"
import { Store } from "../../store/Store.ts"
import { claimToken, recallTickets, rememberTicket } from "./rules/hub-memory.ts"

/** A negotiated token expires after this time; a used one is known as used for this time. */
const TOKEN_MILLIS = 60_000
/** The id of a browser that has registered no ticket is kept for this time. The widget registers at once. */
export const UNUSED_ID_MILLIS = 10 * 60_000
/** A browser's tickets, and its id, are kept for this time after the last registration. */
const BROWSER_MILLIS = 24 * 3_600_000
/** How many registrations of one ticket each instance remembers in an hour. */
export const REMEMBERED_PER_HOUR = 10
const HOUR = 3_600_000
/** Maximum tickets whose registrations are counted at once; the least recently used is dropped. */
const MAX_COUNTED = 50_000

/** Maximum tickets returned for a browser. */
const MAX_TICKETS = 10

const claim = ruleOf(
  "hub.claim",
  runPlain(claimToken),
  Schema.Struct({
    state: Schema.Literals(["ok", "used", "unknown"]),
    browser: Schema.optionalKey(Schema.String),
  }),
)
const remember = ruleOf("hub.remember", runPlain(rememberTicket), Schema.Literal(true))
const recall = ruleOf(
  "hub.recall",
  runPlain(recallTickets),
  Schema.Struct({ tickets: Schema.optionalKey(Schema.Array(Schema.String)) }),
)

const tokenKey = (token: string): string => `vg:{hub:${token}}:token`
/** The origin is hashed, because it is untrusted input. */
const browserKey = ({ id, origin }: Browser): string =>
  `vg:{hub:${id}.${createHash("sha256").update(origin.toLowerCase()).digest("base64url").slice(0, 22)}}:tickets`

const issuedKey = (browser: string): string => `vg:{hub:${browser}}:issued`

/** A browser, or a page without cookies, at one origin; empty for programs that send no `Origin`. */
export interface Browser {
  readonly id: string
  readonly origin: string
}

/** The result of using a negotiated token. `browser` is undefined if an older version negotiated it. */
export interface Claimed {
  readonly state: "ok" | "used" | "unknown"
  readonly browser: string | undefined
}

const BROWSER = /^[A-Za-z0-9_-]{22}$/

export class HubMemory extends Context.Service<
  HubMemory,
  {
    /**
     * Whether a gate has issued this id of a browser, and a ticket was registered under it within a day, or none yet. Other ids are chosen by a
     * client, or by somebody who gave it to that client.
     */
    readonly isIssued: (browser: string) => Effect.Effect<boolean, StoreUnavailable>
    /** Stores that this new id of a browser is issued. */
    readonly issue: (browser: string) => Effect.Effect<void, StoreUnavailable>
    /** Stores a token that was negotiated for a browser. */
    readonly negotiated: (token: string, browser: string) => Effect.Effect<void, StoreUnavailable>
    readonly claim: (token: string) => Effect.Effect<Claimed, StoreUnavailable>
    /** Stores that a browser has registered a ticket, unless that was done too often for this ticket. */
    readonly remember: (browser: Browser, ticket: string) => Effect.Effect<void, StoreUnavailable>
    /** The browser's latest tickets, newest first. */
    readonly recall: (browser: Browser) => Effect.Effect<ReadonlyArray<string>, StoreUnavailable>
  }
>()("voicegate/http/HubMemory") {}

export const layer: Layer.Layer<HubMemory, never, Store> = Layer.effect(
  HubMemory,
  Effect.gen(function* () {
    const store = yield* Store
    const clock = yield* Clock.Clock
    const registrations = makeWindows(HOUR, MAX_COUNTED)
    const mayRemember = (ticket: string): boolean => {
      const now = clock.currentTimeMillisUnsafe()
      if (registrations.used(ticket, now) >= REMEMBERED_PER_HOUR) return false
      registrations.add(ticket, now)
      return true
    }
    return HubMemory.of({
      isIssued: (browser) => Effect.map(store.get(issuedKey(browser)), (found) => found !== undefined),
      issue: (browser) => store.set(issuedKey(browser), "1", UNUSED_ID_MILLIS),
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
          if (!mayRemember(ticket)) return
          const now = yield* store.now
          const call = { ticket, lifetime: BROWSER_MILLIS }
          yield* Effect.all(
            [
              store.run(remember, { keys: [browserKey(browser)], now, context: NO_CONTEXT, call }),
              store.set(issuedKey(browser.id), "1", BROWSER_MILLIS),
            ],
            { concurrency: 2, discard: true },
          )
        }),
      recall: (browser) =>
        Effect.gen(function* () {
          const now = yield* store.now
          const ask = { keys: [browserKey(browser)], now, context: NO_CONTEXT, call: { most: MAX_TICKETS } }
          const { tickets = [] } = yield* store.run(recall, ask)
          return tickets
        }),
    })
  }),
)
