/**
 * OpenAI Realtime or Live over WebRTC. A start sends nothing to OpenAI: the page posts its SDP offer to the gate, which forwards it with
 * the key and the session's configuration, so that the page has neither. OpenAI's answer names the call.
 *
 * OpenAI sends no webhooks about such calls and has no list of them. A call is over when its sideband connection closes and cannot be
 * opened again (404). The first id of a session contains the time at which the maximum length of a call is reached; from then on the
 * session counts as over.
 */

import { randomBytes } from "node:crypto"
import { Clock, DateTime, Effect, Redacted, Schema } from "effect"
import type { StartConfig } from "../../protocol/request.ts"
import type { Adapter, AdapterContext } from "../adapter.ts"
import type { PlatformError } from "../errors.ts"
import type { RelayedSession, WebSession } from "../model.ts"
import type { Call } from "../requests/transport.ts"
import { newOfferToken, offerUntil, sessionOfToken } from "../shared/offer-token.ts"
import {
  checkAgent,
  chosenIn,
  isNotFound,
  saysConcurrency,
  stateOf,
  unknownState,
  vendorEndpoint,
} from "../shared/vendor.ts"
import { isApiError, liveApi, realtimeApi } from "./api.ts"
import type { OpenAISettings } from "./settings.ts"
import { makeCallWatch } from "./watch.ts"

/** No call lasts longer at OpenAI (s). */
const PLATFORM_SECONDS = 60 * 60
/** In place of a call's id, where the answer has no `Location`. */
const UNNAMED = "unnamed-"

const SESSION = /^([\w-]{1,250})@(\d{10,11})$/

/** The parts of the first id of a session that has begun; undefined of any other. */
const partsOf = (sessionId: string) => {
  const [, call = "", seconds = ""] = SESSION.exec(sessionId) ?? []
  return call === "" ? undefined : { call, endMillis: Number(seconds) * 1000 }
}

const objectIn = (json: string | undefined): object => {
  const value: unknown = json === undefined ? {} : JSON.parse(json)
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {}
}

export const openai = (
  { Api, ApiKey, GateUrl, Instructions, Model, PromptId, Session, Voice }: OpenAISettings,
  { campaign, lifetimeSeconds, longestCallSeconds, send }: AdapterContext,
): Adapter => {
  const headers = { authorization: `Bearer ${Redacted.value(ApiKey)}` }
  const endpoint = vendorEndpoint({
    vendor: "OpenAI",
    campaign,
    headers,
    secrets: [ApiKey],
    isAtCapacity: saysConcurrency,
    hasGivenUp: ({ text }) => isApiError(text),
    isRefusal: ({ code }) => code === "insufficient_quota" || code === "billing_hard_limit_reached",
  })
  const api = (Api === "live" ? liveApi : realtimeApi)(endpoint, send)
  const read = <A>(data: Schema.Decoder<A>, call: Omit<Call, "kind">) => send(endpoint, data, { kind: "read", ...call })

  const sessionOf = ({ dynamicVariables }: StartConfig) => ({
    ...api.session,
    model: Model,
    ...(Instructions === undefined ? {} : { instructions: Instructions }),
    ...(Voice === undefined ? {} : { audio: { output: { voice: Voice } } }),
    ...(PromptId === undefined ? {} : { prompt: { id: PromptId, variables: dynamicVariables } }),
    ...objectIn(Session),
  })

  const mint = Effect.gen(function* () {
    const until = Math.floor((yield* Clock.currentTimeMillis) / 1000) + lifetimeSeconds
    const token = newOfferToken(until)
    const expiresAt = DateTime.formatIso(DateTime.makeUnsafe(until * 1000))
    const session: WebSession = {
      sessionIds: [sessionOfToken(token) ?? ""],
      credential: { shape: "sdp-relay", platform: "openai", url: GateUrl ?? "/", token, expiresAt },
      offerMillis: lifetimeSeconds * 1000,
    }
    return session
  })

  const relay = Effect.fnUntraced(function* (config: StartConfig, offer: string, group: string) {
    const begunAt = yield* Clock.currentTimeMillis
    const caller = { fromCaller: chosenIn(config) + offer, group }
    const { call: callId, sdp } = yield* api.begin(sessionOf(config), offer, caller, abandon)
    const { callSeconds } = config
    const longest = callSeconds ?? longestCallSeconds
    const seconds = callId === undefined ? Math.min(longest, PLATFORM_SECONDS) : longest
    // a call with a time limit of its own is hung up at its end, not before
    const from = callSeconds === undefined ? begunAt : (yield* Clock.currentTimeMillis) + 1000
    const end = Math.floor(from / 1000) + seconds
    const name = callId ?? UNNAMED + randomBytes(16).toString("base64url")
    const session: RelayedSession = {
      sessionIds: [`${name}@${end}`, ...(callId === undefined ? [] : [callId])],
      answer: sdp,
      callId,
    }
    return session
  })

  const requestHangUp =
    (path: (call: string) => string) =>
    (call: string): Effect.Effect<boolean, PlatformError> =>
      read(Schema.Unknown, { method: "POST", path: path(encodeURIComponent(call)), shownPath: path(":id") }).pipe(
        Effect.catchIf(isNotFound, () => Effect.void),
        Effect.as(true),
      )

  const calls = makeCallWatch({
    url: (call) => `${campaign.BaseUrl.replace(/^http/, "ws")}${api.sideband(call)}`,
    headers,
    speech: api.speech,
    ending: "path" in api.ending ? { request: requestHangUp(api.ending.path) } : api.ending,
  })
  const { hangUp } = calls

  /** True once the call is certainly over. */
  const abandon = (call: string): Effect.Effect<boolean> => Effect.catch(hangUp(call), () => Effect.succeed(false))

  /** The call of a session that has begun and has a name; undefined of any other. */
  const namedIn = (sessionId: string) => {
    const parts = partsOf(sessionId)
    return parts === undefined || parts.call.startsWith(UNNAMED) ? undefined : parts
  }

  const status = Effect.fnUntraced(function* (id: string) {
    const now = yield* Clock.currentTimeMillis
    const until = offerUntil(id) ?? partsOf(id)?.endMillis
    const named = namedIn(id)
    if (named === undefined) return until !== undefined && now >= until ? stateOf(id, true) : unknownState
    if (now >= named.endMillis) return stateOf(id, yield* hangUp(named.call))
    const state = yield* calls.look(named.call)
    return state === "unknown" ? unknownState : stateOf(id, state === "over")
  })

  return {
    mint: () => mint,
    relay,
    status,
    watch: (id, hears) => {
      const named = namedIn(id)
      return named === undefined ? Effect.succeed(false) : calls.watch(named.call, named.endMillis, hears)
    },
    end: ({ sessionIds: [id = ""] }) => {
      // a session without an offer does not run, and the queue accepts no offer for it any more
      if (offerUntil(id) !== undefined) return Effect.succeed(true)
      const named = namedIn(id)
      return named === undefined ? Effect.succeed(false) : hangUp(named.call)
    },
    check: checkAgent(read(Schema.Unknown, { method: "GET", path: `v1/models/${encodeURIComponent(Model)}` }), {
      group: "OpenAI",
      baseUrl: campaign.BaseUrl,
      agent: "Model",
      bounds: `a token makes one offer at the gate, once, within ${lifetimeSeconds} s, and opens nothing at OpenAI`,
    }),
  }
}
