/** What the adapters of vendors with a REST API have in common. */

import { Context, Effect, Option, Predicate, type Redacted, Result, Schema } from "effect"
import type { StartConfig } from "../../protocol/request.ts"
import type { Campaign } from "../../settings/Settings.ts"
import type { AdapterContext } from "../adapter.ts"
import { type PlatformError, unavailable } from "../errors.ts"
import { faultAt } from "../faults.ts"
import type { Finding, SessionState } from "../model.ts"
import type { Endpoint } from "../requests/transport.ts"
import { type Group, vendors } from "../vendors.ts"
import { readVendorAnswer, type VendorFailure } from "./vendor-answer.ts"

/** Under this name the gate's id of a start is in the vendor's metadata of the call, and comes back in lists and webhooks. */
export const CORRELATION = "voicegate"

/** The metadata of a call: the caller's own, and the gate's id of the start. */
export const metadataOf = ({ clientIdentifier, correlationId, metadata }: StartConfig) => ({
  clientIdentifier,
  ...metadata,
  [CORRELATION]: correlationId ?? clientIdentifier,
})

/** The parts of a start that its caller chose. */
export const chosenIn = ({ clientIdentifier, dynamicVariables, metadata }: StartConfig): string =>
  JSON.stringify([clientIdentifier, dynamicVariables, metadata])

/** The gate's id in the metadata of a call; undefined of a call that the gate did not start. */
export const correlationIn = (metadata: unknown): string | undefined =>
  Predicate.hasProperty(metadata, CORRELATION) && typeof metadata[CORRELATION] === "string"
    ? metadata[CORRELATION]
    : undefined

/** A vendor's time in ms since 1970; undefined if it is none. */
export const millisOf = (time: string | null | undefined): number | undefined => {
  const millis = Date.parse(time ?? "")
  return Number.isNaN(millis) ? undefined : millis
}

/** A vendor's id of a session: one segment of a path, and text that every store keeps as it is. */
export const SessionId = Schema.String.check(Schema.isPattern(/^(?!\.{1,2}$)[\x21-\x7e]{1,256}$/))

interface VendorApi {
  readonly vendor: string
  readonly campaign: Campaign
  /** the headers that authorise each call */
  readonly headers: Readonly<Record<string, string>>
  readonly secrets: ReadonlyArray<Redacted.Redacted<string>>
  readonly isAtCapacity: (failure: VendorFailure) => boolean
  readonly isRefusal?: (failure: VendorFailure) => boolean
  readonly hasGivenUp?: (failure: VendorFailure) => boolean
}

export const vendorEndpoint = ({ campaign, headers, ...answers }: VendorApi): Endpoint => ({
  campaign: campaign.name,
  baseUrl: campaign.BaseUrl,
  authorise: () => Effect.succeed(headers),
  read: readVendorAnswer(answers),
})

/**
 * An address in a vendor's answer; undefined if the gate must not send requests to it. An answer must not lead the gate to another
 * host, because the gate reaches hosts in its own network that others cannot reach.
 *
 * @param domain the vendor's own domain
 */
export const vendorsUrl = (address: string, baseUrl: string, domain: string): URL | undefined => {
  const url = URL.parse(address)
  if (url === null || url.username !== "" || url.password !== "") return undefined
  const isVendors = url.protocol === "https:" && url.hostname.endsWith(`.${domain}`)
  return isVendors || url.origin === URL.parse(baseUrl)?.origin ? url : undefined
}

/** Whether the text of a refusal says that all calls are taken: vendors use 429 for this and for the rate of requests. */
export const saysConcurrency = ({ status, text }: VendorFailure): boolean =>
  (status === 400 || status === 402 || status === 429) && /concurren/i.test(text)

/** For a start that only makes a credential: if its answer is lost, nothing has started, because nobody has the credential. */
export const startsNothing = <A>(start: Effect.Effect<A, PlatformError>): Effect.Effect<A, PlatformError> =>
  Effect.mapError(start, (error) =>
    error.reason._tag === "Unavailable" && error.reason.mayHaveHappened
      ? unavailable(error.reason.reason, false, error.message)
      : error,
  )

export const isNotFound = ({ reason }: PlatformError): boolean => reason._tag === "Refused" && reason.status === 404

/** The list cannot be read with this key, or has another shape than documented. */
export const cannotList = ({ reason }: PlatformError): boolean =>
  (reason._tag === "Refused" && [400, 403, 404, 405, 422].includes(reason.status)) ||
  (reason._tag === "Unavailable" && reason.reason === "malformed")

/** A field that a vendor may leave out, or send as null. */
export const maybe = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/**
 * A field that the gate can do without. If its shape is not the documented one, it is ignored: the start has been
 * carried out, and its call must not be lost because of this field.
 */
export const hint = <S extends Schema.Top>(schema: S) =>
  Schema.optionalKey(Schema.NullOr(schema).pipe(Schema.catchDecoding(() => Effect.succeedNone)))

/** @param opened whether somebody has opened it, as `SessionState` says; undefined where the vendor does not tell */
export const stateOf = (sessionId: string, isOver: boolean, opened?: boolean): SessionState => ({
  status: isOver ? "over" : "running",
  sessionIds: [sessionId],
  ...(opened === undefined ? {} : { opened }),
})

/**
 * When a room of Daily closes (s since 1970) whose token expires at `expiry`: at the longest length of a call after that; or at the time limit
 * of its call, counted from now, but not before the token expires.
 */
export const roomExpiry = (
  expiry: number,
  { lifetimeSeconds, longestCallSeconds }: Pick<AdapterContext, "lifetimeSeconds" | "longestCallSeconds">,
  callSeconds: number | undefined,
): number =>
  callSeconds === undefined ? expiry + longestCallSeconds : Math.max(expiry, expiry - lifetimeSeconds + callSeconds)

export const unknownState: SessionState = { status: "unknown", sessionIds: [] }

/** The state of a session; unknown of one that the vendor does not know. */
export const orUnknown = (
  state: Effect.Effect<SessionState, PlatformError>,
): Effect.Effect<SessionState, PlatformError> => Effect.catchIf(state, isNotFound, () => Effect.succeed(unknownState))

/**
 * The ids of the listed calls that have the gate's id of a start in their metadata, each once; undefined when there is no usable list.
 */
export const startedBy = <Call>(
  calls: Effect.Effect<ReadonlyArray<Call> | undefined, PlatformError>,
  correlationId: string,
  read: (call: Call) => { readonly id: string; readonly metadata: unknown },
): Effect.Effect<ReadonlyArray<ReadonlyArray<string>> | undefined, PlatformError> =>
  calls.pipe(
    Effect.map((found) => {
      const ids = found?.map(read).filter(({ metadata }) => correlationIn(metadata) === correlationId)
      // pages may overlap
      return ids && [...new Set(ids.map(({ id }) => id))].map((id) => [id])
    }),
    Effect.catchIf(cannotList, () => Effect.undefined),
  )

/**
 * Whether a check also reads the vendor's own settings: at the start, for `check` and for the console. The watch of a platform, which goes on all
 * the time, asks only whether it serves.
 */
export const ReadsSettings: Context.Reference<boolean> = Context.Reference("voicegate/platform-api/ReadsSettings", {
  defaultValue: () => true,
})

/**
 * Checks key and agent by reading the agent, or by making a credential that nobody gets. `bounds` says what bounds the credential. An agent
 * of another shape than expected is one whose settings are not known: the vendor answers all the same.
 *
 * @param breaks what of the vendor's own settings breaks a promise of the gate, each a sentence that names them; of each read alone, because a
 *   key may not be able to make all of them
 * @param group the vendor's key in the settings
 * @param baseUrl where the vendor's API is
 * @param agent the name of the setting that a 400, a 404 and a 422 blame
 * @param key the name of the setting that any other refusal blames
 * @param may what the key may do if the read succeeds
 * @param isBounded whether the credential is valid no longer than the start window, or opens one session alone
 */
export const checkAgent = <A = unknown>(
  read: Effect.Effect<unknown, PlatformError>,
  {
    settings,
    agent,
    baseUrl,
    bounds,
    breaks,
    group,
    isBounded = true,
    key = "ApiKey",
    may = "read the agent",
  }: {
    readonly group: Group
    readonly agent: string
    readonly baseUrl: string
    readonly bounds: string
    /** the vendor's settings in what was read; all of it if absent */
    readonly settings?: Schema.Decoder<A>
    readonly breaks?: (found: A) => ReadonlyArray<Effect.Effect<ReadonlyArray<string>, PlatformError>>
    readonly key?: string
    readonly may?: string
    readonly isBounded?: boolean
  },
): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.gen(function* () {
    const credential: Finding = { subject: "credential", state: isBounded ? "ok" : "not_checked", detail: bounds }
    const found = yield* Effect.result(read)
    if (Result.isFailure(found)) return [unread(found.failure, { group, agent, baseUrl, key }), credential]
    const platform: Finding = { subject: "platform", state: "ok", detail: `reachable; the key may ${may}` }
    if (breaks === undefined || settings === undefined || !(yield* ReadsSettings)) return [platform, credential]
    const decoded = Schema.decodeUnknownOption(settings)(found.success)
    if (Option.isNone(decoded))
      return [platform, credential, notRead("the agent's settings do not have the documented shape")]
    const broken = yield* Effect.forEach(breaks(decoded.value), (told) =>
      Effect.match(told, {
        onFailure: ({ message }): ReadonlyArray<Finding> => [notRead(message)],
        onSuccess: (sentences): ReadonlyArray<Finding> =>
          sentences.map((detail) => ({ subject: "vendor's settings", state: "failed", detail })),
      }),
    )
    return [platform, credential, ...broken.flat()]
  })

const notRead = (detail: string): Finding => ({ subject: "vendor's settings", state: "not_checked", detail })

/** Statuses of an agent that does not exist, and of an id that no agent can have. */
const BLAMES_AGENT: ReadonlySet<number> = new Set([400, 404, 422])

/** Why the agent could not be read, with the setting to check. */
const unread = (
  error: PlatformError,
  { agent, baseUrl, group, key }: Record<"agent" | "baseUrl" | "key", string> & { readonly group: Group },
): Finding => {
  const { message, reason } = error
  if (reason._tag === "KeyRateLimited" || reason._tag === "AtCapacity") {
    return { subject: "platform", state: "not_checked", detail: message, answers: true }
  }
  const failed = (setting: string, detail = `${group}.${setting}: ${message}`): Finding => ({
    subject: "platform",
    state: "failed",
    detail,
    ...faultAt(`${group}.${setting}`, error),
  })
  if (reason._tag === "Unavailable") {
    if (reason.reason === "server_error") return failed("BaseUrl", message)
    // nobody wrote this setting, so it does not help to name it
    return vendors[group].ownAddress === baseUrl
      ? failed("BaseUrl", `${group} gives no usable answer at ${baseUrl}, its own address: ${message}`)
      : failed("BaseUrl")
  }
  if (reason.status === 402) return failed(key, `the account of ${group}.${key}: ${message}`)
  return failed(BLAMES_AGENT.has(reason.status) ? agent : key)
}
