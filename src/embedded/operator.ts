/** What the console can do, for a host's own administration page or tool. The host decides who may use it. */

import { Effect, Option, Schema } from "effect"
import type { Pages } from "../fifo-queue/inputs.ts"
import { Action, type ActionOutcome } from "../fifo-queue/operator/actions.ts"
import { unknownFields } from "../lib/unknown-field.ts"
import { HASH, positionOf } from "../operator/find.ts"
import { ForgetRequest, type Forgotten, wrongForget } from "../operator/forgotten.ts"
import type { BlockResult, Operator } from "../operator/Operator.ts"
import {
  type Asking,
  AuditFilter,
  type AuditLog,
  type CampaignHistory,
  type Campaigns,
  type Found,
  HistoryRange,
  type View,
} from "../operator/shapes.ts"
import type { StoreUnavailable } from "../protocol/refusals.ts"
import { type RefusedResult, storeUnavailable } from "./results.ts"

/** The campaign by name; the default one when absent. */
export interface OfCampaign {
  readonly campaign?: string | undefined
}

/** Which rows of a campaign's slots and waiting tickets, from 0; at most 100 of each, 25 by default. */
export interface ViewQuery extends OfCampaign, Partial<Pages> {
  /** what was counted since this time (ms since 1970) is included; nothing by default */
  readonly since?: number
}

export interface AuditLogQuery extends OfCampaign {
  /** 0 is the newest line */
  readonly first?: number
  /** at most 100, 25 by default */
  readonly count?: number
  /** only changed settings, or only actions on the queue; both by default */
  readonly only?: AuditFilter
}

export interface ActRequest extends OfCampaign {
  /** who acts, as the audit log shows it */
  readonly who: string
  readonly action: Action
}

export interface HistoryQuery extends OfCampaign {
  /** the last hour by the minute (default), the last day by 10 minutes, or the last week by the hour */
  readonly range?: HistoryRange
}

/** An address (of IPv6 its /64), a network (/24, of IPv6 /48), or the hash of one as operators see it. */
export interface BlockRequest {
  /** who blocks, or lifts, as the audit log shows it */
  readonly who: string
  readonly address: string
}

/** A caller by subject or address. With `dryRun` nothing is removed. `from` is the `next` of the answer before. */
export interface ForgetQuery extends ForgetRequest {
  /** who forgets, as the audit log shows it */
  readonly who: string
}

type Unavailable = RefusedResult<"store_unavailable">
type UnknownCampaign = RefusedResult<"unknown_campaign">

export type ViewResult = { readonly status: "found"; readonly view: View } | UnknownCampaign
export type ActResult = { readonly status: "done"; readonly outcome: ActionOutcome } | UnknownCampaign | Unavailable
export type AuditLogResult = { readonly status: "found"; readonly auditLog: AuditLog } | UnknownCampaign | Unavailable
export type FindResult = { readonly status: "found"; readonly found: Found } | Unavailable
export type HistoryResult =
  | { readonly status: "found"; readonly history: CampaignHistory }
  | UnknownCampaign
  | Unavailable
export type AddressesResult = ({ readonly status: "found" } & Asking) | Unavailable
/** `already`: there was no block to lift. `full`: 300 are blocked already. */
export type BlockOutcome = { readonly status: "done"; readonly result: Exclude<BlockResult, "invalid"> } | Unavailable
export type ForgetResult = { readonly status: "done"; readonly forgotten: Forgotten } | Unavailable

/** The promises reject with a `TypeError` for an argument of a wrong type or an unknown field. */
export interface GateOperator {
  /** A campaign's slots, waiting tickets and health. Counts and instances are kept when `Security.ConsoleToken` is set. */
  readonly view: (query?: ViewQuery) => Promise<ViewResult>
  /** The figures of all campaigns. */
  readonly campaigns: () => Promise<Campaigns>
  /** Pauses, resumes, drains or reopens a queue, calls the next caller, removes one, or ends a call; the audit log has a line of it. */
  readonly act: (request: ActRequest) => Promise<ActResult>
  readonly auditLog: (query?: AuditLogQuery) => Promise<AuditLogResult>
  /**
   * The tickets of all campaigns whose hash begins with these 4 to 10 hexadecimal digits. An answer with `next` is incomplete: ask again
   * with it as `from`.
   */
  readonly find: (hash: string, from?: string) => Promise<FindResult>
  /** What happened in a campaign over time. It is kept when `Security.ConsoleToken` is set. */
  readonly history: (query?: HistoryQuery) => Promise<HistoryResult>
  /** The addresses that asked most in the last hour, and those that are blocked. Kept when `Security.ConsoleToken` is set. */
  readonly addresses: () => Promise<AddressesResult>
  /**
   * Refuses new requests of an address at all campaigns, until a time (ms since 1970) or, without one, until the block is lifted. It needs
   * `Security.ConsoleToken`, without which a gate keeps no blocks, and rejects with a `TypeError` otherwise.
   */
  readonly block: (request: BlockRequest & { readonly until?: number }) => Promise<BlockOutcome>
  /** Lifts a block. */
  readonly lift: (request: BlockRequest) => Promise<BlockOutcome>
  /**
   * Forgets a caller in all campaigns, or counts what the store has of them. What waits or is in a call is kept, and told. An answer with
   * `next` is incomplete: ask again with it as `from`, and add the counts up.
   */
  readonly forget: (query: ForgetQuery) => Promise<ForgetResult>
}

const ROWS = 25

const VIEW = {
  campaign: "string",
  firstSlot: "row",
  slots: "row",
  firstPlace: "row",
  places: "row",
  since: "row",
} as const
const AUDIT_LOG = { campaign: "string", first: "row", count: "row", only: "string" } as const
const HISTORY = { campaign: "string", range: "string" } as const
const BLOCK = { who: "string", address: "string", until: "row" } as const
const LIFT = { who: "string", address: "string" } as const
const FORGET = { who: "string", subject: "string", address: "string", dryRun: "boolean", from: "string" } as const
const ACT = { campaign: "string", who: "string", action: "object" } as const

/** Throws a `TypeError` for an unknown field, or one of a wrong type. */
const check = <T extends object>(
  name: string,
  given: T,
  known: { readonly [K in keyof Required<T>]: "string" | "row" | "object" | "boolean" },
): void => {
  const kinds = new Map<string, unknown>(Object.entries(known))
  const unknown = unknownFields(given, [...kinds.keys()]).map(({ field, message }) => `${name}.${field}: ${message}`)
  const wrong = Object.entries(given).flatMap(([field, value]: [string, unknown]) => {
    const kind = kinds.get(field)
    if (kind === undefined || value === undefined) return []
    if (kind === "row") {
      return Number.isSafeInteger(value) && Number(value) >= 0 ? [] : `${name}.${field}: expected a whole number from 0`
    }
    return typeof value === kind ? [] : `${name}.${field}: expected a ${kind}`
  })
  const problems = [...unknown, ...wrong]
  if (problems.length > 0) throw new TypeError(problems.join("\n"))
}

/** A misspelt `until` must not pause for good. */
const decodeAction = Schema.decodeUnknownOption(Action, { onExcessProperty: "error" })
const isForgetRequest = Schema.is(ForgetRequest)
const isHistoryRange = Schema.is(HistoryRange)
const isAuditFilter = Schema.is(AuditFilter)

const unknownCampaign = (): UnknownCampaign => ({
  status: "refused",
  code: "unknown_campaign",
  message: "campaign: Expected a configured campaign.",
})

const orRefused = <A, B>(
  effect: Effect.Effect<A | undefined, StoreUnavailable>,
  onFound: (found: A) => B,
): Effect.Effect<B | UnknownCampaign | Unavailable> =>
  Effect.match(effect, {
    onFailure: storeUnavailable,
    onSuccess: (found) => (found === undefined ? unknownCampaign() : onFound(found)),
  })

const ADDRESS = "request.address: expected an address, a network (/24, or /48 of IPv6) or the hash of one"

/** `run` rejects when the gate is closed. @param keepsBlocks whether the gate has a console, and so learns of blocks */
export const makeOperator = (
  operator: Operator["Service"],
  run: <A>(effect: Effect.Effect<A>) => Promise<A>,
  keepsBlocks: boolean,
): GateOperator => {
  const order = async ({ address, who }: BlockRequest, until: number | undefined): Promise<BlockOutcome> => {
    if (typeof who !== "string") throw new TypeError("request.who: expected a string")
    if (typeof address !== "string") throw new TypeError(ADDRESS)
    if (!keepsBlocks) throw new TypeError("Security.ConsoleToken: blocks are kept only where it is set")
    const answer = await run<BlockOutcome | "invalid">(
      Effect.match(operator.block(who, address, until), {
        onFailure: storeUnavailable,
        onSuccess: (result) => (result === "invalid" ? result : { status: "done" as const, result }),
      }),
    )
    if (answer === "invalid") throw new TypeError(ADDRESS)
    return answer
  }
  return {
    view: async (query = {}) => {
      check("query", query, VIEW)
      const { campaign, firstPlace = 0, firstSlot = 0, places = ROWS, since, slots = ROWS } = query
      const view = await run(
        operator.view(campaign, { firstSlot, slots, firstPlace, places }, since ?? Number.MAX_SAFE_INTEGER),
      )
      return view === undefined ? unknownCampaign() : { status: "found", view }
    },
    campaigns: () => run(operator.campaigns),
    act: async (request) => {
      check("request", request, ACT)
      const { campaign, who } = request
      if (typeof who !== "string") throw new TypeError("request.who: expected a string")
      const action = Option.getOrUndefined(decodeAction(request.action))
      if (action === undefined) throw new TypeError("request.action: expected an action with its fields, and no others")
      return await run<ActResult>(
        orRefused(operator.act(campaign, who, action), (outcome) => ({ status: "done" as const, outcome })),
      )
    },
    auditLog: async (query = {}) => {
      check("query", query, AUDIT_LOG)
      const { campaign, count = ROWS, first = 0, only } = query
      if (only !== undefined && !isAuditFilter(only)) throw new TypeError("query.only: expected settings or actions")
      return await run<AuditLogResult>(
        orRefused(operator.auditLog(campaign, first, count, only), (auditLog) => ({
          status: "found" as const,
          auditLog,
        })),
      )
    },
    find: async (hash, from) => {
      const lower = typeof hash === "string" ? hash.toLowerCase() : ""
      if (!HASH.test(lower)) throw new TypeError("hash: expected 4 to 10 hexadecimal digits")
      const position = typeof from === "string" ? positionOf(from) : undefined
      if (from !== undefined && position === undefined) throw new TypeError("from: expected the `next` of a search")
      return await run<FindResult>(
        Effect.match(operator.find({ hash: lower }, position), {
          onFailure: storeUnavailable,
          onSuccess: (found) => ({ status: "found" as const, found }),
        }),
      )
    },
    history: async (query = {}) => {
      check("query", query, HISTORY)
      const { campaign, range = "hour" } = query
      if (!isHistoryRange(range)) throw new TypeError("query.range: expected hour, day or week")
      return await run<HistoryResult>(
        orRefused(operator.history(campaign, range), (history) => ({ status: "found" as const, history })),
      )
    },
    addresses: () =>
      run<AddressesResult>(
        Effect.match(operator.asking, {
          onFailure: storeUnavailable,
          onSuccess: (asking) => ({ status: "found" as const, ...asking }),
        }),
      ),
    block: async (request) => {
      check("request", request, BLOCK)
      return await order(request, request.until ?? 0)
    },
    lift: async (request) => {
      check("request", request, LIFT)
      return await order(request, undefined)
    },
    forget: async (query) => {
      check("query", query, FORGET)
      const { who, ...request } = query
      if (typeof who !== "string") throw new TypeError("query.who: expected a string")
      const wrong = isForgetRequest(request) ? wrongForget(request) : "query: Expected a subject or an address."
      if (wrong !== undefined) throw new TypeError(wrong)
      return await run<ForgetResult>(
        Effect.match(operator.forget(who, request), {
          onFailure: storeUnavailable,
          onSuccess: (forgotten) => ({ status: "done" as const, forgotten }),
        }),
      )
    },
  }
}
