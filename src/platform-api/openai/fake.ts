/**
 * OpenAI's Realtime or Live API in memory: calls that begin with an SDP offer, and their sideband connections. It sends no webhooks. A page
 * joins through the gate: it posts its offer there, and the gate's answer names the call.
 */
import { Deferred, Effect } from "effect"
import {
  type FakeVendor,
  fakeApi,
  fakeCalls,
  field,
  type VendorAnswer,
  type VendorRequest,
} from "../../testing/FakeVendor.ts"
import type { Listening, OpenSideband } from "../shared/sideband.ts"

const KEY = "key-of-the-fake-openai"
const MODELS = { realtime: "gpt-realtime", live: "gpt-live-1" }

/** An SDP offer, as far as this fake reads it. */
export const FAKE_SDP_OFFER = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"

const refusal = (status: number, code: string, message: string): VendorAnswer => ({
  status,
  body: { error: { message, type: "invalid_request_error", param: null, code } },
})
const unknownCall = refusal(404, "call_id_not_found", "No session found for the provided call_id")

export interface FakeOpenAI extends FakeVendor {
  /** Takes the place of the gate's connections to calls: `Effect.provideService(Sideband, fake.sideband)`. */
  readonly sideband: OpenSideband
  /** How many connections to calls are open. */
  readonly sidebands: () => number
  /** Closes them, while the calls go on. */
  readonly dropSidebands: () => void
  /** OpenAI sends an event on the connections to a call, such as `input_audio_buffer.speech_started`. */
  readonly says: (id: string, type: string) => void
  /** From now on connections are refused with this status; undefined accepts them again. */
  readonly refuseSidebands: (status: number | undefined) => void
}

const answerTo = (call: string): string => `v=0\r\no=- 2 1 IN IP4 127.0.0.1\r\ns=answer to ${call}\r\nt=0 0\r\n`

/** @param _now the time in ms since 1970, of the test's clock; this vendor tells no time */
export const makeFakeOpenAI = (_now?: () => number, api: "realtime" | "live" = "realtime"): FakeOpenAI => {
  const MODEL = MODELS[api]
  const calls = fakeCalls("rtc_")
  /** the open connections: their calls, and how each completes: true if the vendor has said that the call is over */
  const connections = new Map<Deferred.Deferred<boolean>, string>()
  /** what the gate hears on each */
  const listeners = new Map<Deferred.Deferred<boolean>, Listening>()
  let refused: number | undefined

  const close = (which: (call: string) => boolean): void => {
    for (const [connection, call] of connections) {
      if (!which(call)) continue
      connections.delete(connection)
      // only the Live API says that a session is over before it closes
      Deferred.doneUnsafe(connection, Effect.succeed(api === "live" && !calls.isRunning(call)))
    }
  }
  const end = (id: string) => {
    const ended = calls.end(id)
    close((call) => call === id)
    return ended
  }

  const answer = ({ body, headers, method, path }: VendorRequest): VendorAnswer => {
    if (headers.get("authorization") !== `Bearer ${KEY}`) return refusal(401, "invalid_api_key", "Incorrect API key")
    // that of the Live API ends calls by telephone alone
    const [, hungUp] = /^\/v1\/realtime\/calls\/([^/]+)\/hangup$/.exec(path) ?? []
    if (hungUp !== undefined) return end(hungUp) === undefined ? unknownCall : { status: 200 }
    switch (`${method} ${path}`) {
      case `GET /v1/models/${MODEL}`:
        return { status: 200, body: { id: MODEL, object: "model" } }
      case api === "realtime" ? "POST /v1/realtime/calls" : "POST /v1/live/sessions": {
        const session: unknown =
          api === "realtime" ? JSON.parse(String(field(body, "session"))) : field(body, "session")
        const sdp = api === "realtime" ? field(body, "sdp") : field(body, "transport", "sdp")
        if (
          field(session, "type") !== (api === "realtime" ? "realtime" : undefined) ||
          field(session, "model") !== MODEL
        ) {
          return refusal(400, "invalid_value", "Invalid session")
        }
        if (!String(sdp).startsWith("v=0")) return refusal(400, "invalid_offer", "Invalid SDP offer")
        const call = calls.start(session)
        if (call === undefined) return refusal(429, "rate_limit_exceeded", "Too many concurrent sessions")
        if (api === "live") {
          const transport = { type: "webrtc", sdp: answerTo(call.id) }
          return { status: 201, body: { session: { id: call.id }, transport } }
        }
        return {
          status: 201,
          body: answerTo(call.id),
          headers: { "content-type": "application/sdp", location: `/v1/realtime/calls/${call.id}` },
        }
      }
      default:
        return refusal(404, "not_found", "Not found")
    }
  }

  const sideband: OpenSideband = Effect.fnUntraced(function* (url, headers, _over, listening) {
    const { pathname, searchParams } = new URL(url)
    const call =
      api === "realtime"
        ? (searchParams.get("call_id") ?? "")
        : (/^\/v1\/live\/sessions\/([^/]+)\/attach$/.exec(pathname)?.[1] ?? "")
    if (headers.authorization !== `Bearer ${KEY}`) return yield* Effect.fail(401)
    if (refused !== undefined) return yield* Effect.fail(refused)
    if (!calls.isRunning(call)) return yield* Effect.fail(404)
    const connection = yield* Effect.acquireRelease(Deferred.make<boolean>(), (opened) =>
      Effect.sync(() => {
        connections.delete(opened)
        listeners.delete(opened)
      }),
    )
    connections.set(connection, call)
    if (listening !== undefined) listeners.set(connection, listening)
    return {
      closed: Deferred.await(connection),
      send: (event) =>
        Effect.sync(() => {
          if (api === "live" && field(event, "type") === "session.close") end(call)
        }),
    }
  })

  return {
    ...fakeApi(answer),
    settings: {
      Platform: "openai",
      MaxConcurrency: 1,
      OpenAI: { ApiKey: KEY, AgentId: "agent-fake", Api: api, Model: MODEL, Instructions: "Help the caller." },
    },
    setLimit: calls.setLimit,
    join: () => undefined,
    isRunning: calls.isRunning,
    hangUp: (id) => {
      end(id)
      return undefined
    },
    webhook: (body) => ({ headers: {}, rawBody: JSON.stringify(body) }),
    sideband,
    sidebands: () => connections.size,
    dropSidebands: () => close(() => true),
    says: (id, type) => {
      for (const [connection, { events, hears }] of listeners) {
        const speech = connections.get(connection) === id ? events.get(type) : undefined
        if (speech !== undefined) hears(speech)
      }
    },
    refuseSidebands: (status) => {
      refused = status
    },
  }
}
