/**
 * The two APIs of OpenAI whose calls begin with an SDP offer. Realtime takes a form and answers the SDP itself, with the call's id in
 * `Location`; Live takes and answers JSON. Each call has an address for its sideband connection and one to hang up.
 */
import { Effect, Option, Schema } from "effect"
import type { Send } from "../adapter.ts"
import { type PlatformError, unavailable } from "../errors.ts"
import type { Speech } from "../model.ts"
import type { Answered } from "../requests/answer.ts"
import type { Call, Endpoint } from "../requests/transport.ts"

/** What OpenAI answers to an offer. */
export interface BegunCall {
  readonly sdp: string
  /** undefined where the answer names none */
  readonly call: string | undefined
}

export interface OpenAIApi {
  /** what every session has, besides its settings */
  readonly session: Readonly<Record<string, Schema.Json>>
  /** Sends the offer, once. A call that an unusable answer names is given to `abandon`, which is true once it is over. */
  readonly begin: (
    session: object,
    offer: string,
    caller: Pick<Call, "fromCaller"> & { readonly group: string },
    abandon: (call: string) => Effect.Effect<boolean>,
  ) => Effect.Effect<BegunCall, PlatformError>
  /** the path of a call's sideband connection */
  readonly sideband: (call: string) => string
  /** what events on this connection say of who speaks, by their `type`; empty where none does */
  readonly speech: ReadonlyMap<string, Speech>
  /** How a call is ended: the path to hang it up (with `:id`, as spans show it), or an event on its sideband and the one that confirms it. */
  readonly ending: { readonly path: (call: string) => string } | { readonly event: string; readonly over: string }
}

const Sdp = Schema.String.check(Schema.isStartingWith("v=0"))
const RealtimeAnswer = Schema.Struct({ sdp: Sdp, location: Schema.UndefinedOr(Schema.String) })
const LiveAnswer = Schema.Struct({
  session: Schema.optionalKey(Schema.Struct({ id: Schema.optionalKey(Schema.String) })),
  transport: Schema.Struct({ sdp: Sdp }),
})

/** The id of a call, at the end of an address or alone. */
const CALL = /^(?:.*\/)?([\w-]{1,200})$/
const callIn = (text = ""): string | undefined => CALL.exec(text.split(/[?#]/, 1)[0] ?? "")?.[1]

const LiveName = Schema.fromJsonString(Schema.Struct({ session: Schema.Struct({ id: Schema.String }) }))

/** OpenAI's own error, in the shape that its API documents. A proxy that answers in its place uses another shape. */
const ApiError = Schema.fromJsonString(
  Schema.Struct({ error: Schema.Struct({ message: Schema.String, type: Schema.String }) }),
)
export const isApiError = (body: string): boolean => Option.isSome(Schema.decodeUnknownOption(ApiError)(body))

/**
 * A start whose answer names a call and cannot be used leaves no call behind: its page has no answer and cannot connect to the call. Once
 * the call is over, nothing is in doubt.
 */
const abandoning = <A>(
  endpoint: Endpoint,
  nameIn: (answered: Answered) => string | undefined,
  abandon: (call: string) => Effect.Effect<boolean>,
  begin: (endpoint: Endpoint) => Effect.Effect<A, PlatformError>,
): Effect.Effect<A, PlatformError> =>
  Effect.suspend(() => {
    let named: string | undefined
    const noting: Endpoint = {
      ...endpoint,
      read: (call, answered) => {
        named = nameIn(answered)
        return endpoint.read(call, answered)
      },
    }
    return Effect.catch(begin(noting), (error) => {
      const isInDoubt = error.reason._tag === "Unavailable" && error.reason.mayHaveHappened
      if (named === undefined || !isInDoubt) return Effect.fail(error)
      return Effect.flatMap(abandon(named), (isOver) =>
        Effect.fail(isOver ? unavailable("server_error", false, error.message) : error),
      )
    })
  })

/**
 * The caller by OpenAI's own detection of voice, unless the session switches it off; the agent by what is played to the page.
 *
 * Source: `realtime-conversations` of OpenAI's guides and its API reference (server events), read on 2026-11-27.
 */
const REALTIME_SPEECH: ReadonlyMap<string, Speech> = new Map([
  ["input_audio_buffer.speech_started", { side: "caller", speaks: true }],
  ["input_audio_buffer.speech_stopped", { side: "caller", speaks: false }],
  ["output_audio_buffer.started", { side: "agent", speaks: true }],
  ["output_audio_buffer.stopped", { side: "agent", speaks: false }],
  ["output_audio_buffer.cleared", { side: "agent", speaks: false }],
])

export const realtimeApi = (plain: Endpoint, send: Send): OpenAIApi => {
  const endpoint: Endpoint = {
    ...plain,
    // the answer to an offer is no JSON
    read: (call, answered) =>
      answered.status >= 200 && answered.status < 300
        ? Effect.succeed({ sdp: answered.body, location: answered.location })
        : plain.read(call, answered),
  }
  return {
    session: { type: "realtime" },
    begin: (session, sdp, { group, ...caller }, abandon) => {
      const multipart = { sdp, session: JSON.stringify(session) }
      const call: Call = {
        kind: "start",
        method: "POST",
        path: "v1/realtime/calls",
        multipart,
        unquotable: sdp,
        ...caller,
      }
      const begun = abandoning(
        endpoint,
        ({ location }) => callIn(location),
        abandon,
        (noting) => send(noting, RealtimeAnswer, call, group),
      )
      return Effect.map(begun, (answered) => ({ sdp: answered.sdp, call: callIn(answered.location) }))
    },
    sideband: (call) => `v1/realtime?call_id=${encodeURIComponent(call)}`,
    speech: REALTIME_SPEECH,
    ending: { path: (call) => `v1/realtime/calls/${call}/hangup` },
  }
}

/**
 * Live tells no begin and no end of speech: what is written down was said just now.
 *
 * Source: `live/sideband-websocket` of OpenAI's API reference, read on 2026-11-27.
 */
const LIVE_SPEECH: ReadonlyMap<string, Speech> = new Map([
  ["session.input_transcript.delta", { side: "caller", speaks: false }],
  ["session.output_transcript.delta", { side: "agent", speaks: false }],
])

/** What a page may send to its Live session, unless `Session` says otherwise. */
const PAGE_EVENTS = ["session.input_audio.mute", "session.input_audio.unmute"]

export const liveApi = (endpoint: Endpoint, send: Send): OpenAIApi => ({
  // the page is not trusted: without this it could append instructions, close over its data channel, or delegate
  session: { client: { data_channel: { allowed_client_events: PAGE_EVENTS } } },
  begin: (session, sdp, { group, ...caller }, abandon) => {
    const body = { session, transport: { type: "webrtc", sdp } }
    const call: Call = { kind: "start", method: "POST", path: "v1/live/sessions", body, unquotable: sdp, ...caller }
    const begun = abandoning(
      endpoint,
      ({ body }) => callIn(Option.getOrUndefined(Schema.decodeUnknownOption(LiveName)(body))?.session.id),
      abandon,
      (noting) => send(noting, LiveAnswer, call, group),
    )
    return Effect.map(begun, (answered) => ({
      sdp: answered.transport.sdp,
      call: callIn(answered.session?.id),
    }))
  },
  sideband: (call) => `v1/live/sessions/${encodeURIComponent(call)}/attach?graceful_close=true`,
  speech: LIVE_SPEECH,
  // `hangup` of this API ends calls by telephone alone
  ending: { event: "session.close", over: "session.closed" },
})
