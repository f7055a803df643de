/**
 * The life of the hub's connections, from the open WebSocket to its close: handshake, records, pings and limits. A connection that
 * breaks the protocol or exceeds a limit is closed.
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import type { WebSocket } from "ws"
import * as texts from "../../protocol/texts.ts"
import { BACKLOG_BYTES } from "../../push-channel/connection-table.ts"
import { GateLog } from "../access-log/GateLog.ts"
import { toProblem } from "../answers/failures.ts"
import { TicketLimits } from "../requests/ticket-limits.ts"
import { type Peer, sendFailed, sendReconnect } from "./peer.ts"
import * as protocol from "./protocol.ts"
import { Registration } from "./Registration.ts"

/** Ping interval. The stock client closes a connection that is silent for 30 s, and itself pings every 15 s. */
export const PING_MILLIS = 10_000
const IDLE_TIMEOUT_MILLIS = 40_000
/** A connection that has not registered by then is treated as a reconnect: the widget does not register again. */
const REGISTER_MILLIS = 3_000
/** Each is a registration, which asks the store. The widget registers once. */
const MAX_INVOCATIONS = 20
/**
 * Maximum messages, pings and pongs of a connection in `PING_MILLIS`. The stock client sends two at first, then one every 15 s. A
 * connection that exceeds the limit is closed with 1008 and read no further.
 */
export const MAX_MESSAGES = 200
/** After it, a registration that was refused may be repeated. */
const MINUTE_SECONDS = 60

export class HubConnections extends Context.Service<
  HubConnections,
  {
    /** Serves an open WebSocket until it closes. */
    readonly accept: (ws: WebSocket, of: Pick<Peer, "address" | "browser" | "caller">) => void
    /** Tells connections without a ticket to reconnect elsewhere; the push channel handles those with a ticket. */
    readonly drain: Effect.Effect<void>
  }
>()("voicegate/http/HubConnections") {}

export const layer: Layer.Layer<HubConnections, never, GateLog | Registration | TicketLimits> = Layer.effect(
  HubConnections,
  Effect.gen(function* () {
    const log = yield* GateLog
    const limits = yield* TicketLimits
    const clock = yield* Clock.Clock
    const steady = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const peers = new Set<Peer>()
    const { register, release, restore } = yield* Registration

    yield* Effect.sync(() => {
      const now = steady()
      for (const peer of peers) {
        const { handshakeDone, lastMessageAt, ws } = peer
        peer.messageCount = 0
        if (now - lastMessageAt > IDLE_TIMEOUT_MILLIS || ws.bufferedAmount > BACKLOG_BYTES) ws.terminate()
        // the stock client fails if it receives anything before the handshake's answer
        else if (handshakeDone) ws.send(protocol.ping)
      }
    }).pipe(Effect.schedule(Schedule.spaced(PING_MILLIS)), Effect.forkScoped)

    /** `status` is 0 if nothing was answered. */
    const logLine = ({ address, ticket }: Peer, method: string, status: number, outcome: string): void =>
      log.write({ id: "", method, path: "/sessionHub", status, outcome, address, millis: 0, ticket })

    const onInvocation = (peer: Peer, record: protocol.ClientRecord & { _tag: "invocation" }): Effect.Effect<void> => {
      const answer = (error?: string): Effect.Effect<void> =>
        Effect.sync(() => {
          if (record.id !== undefined) peer.ws.send(protocol.completion(record.id, error))
        })
      const [ticket] = record.args
      if (record.target.toLowerCase() !== "register")
        return answer(`There is no method ${JSON.stringify(record.target.slice(0, 64))}.`)
      if (typeof ticket !== "string") return answer("Register: Expected a uniqueRequestId.")
      const fail = (message: string, status: number, code: string): Effect.Effect<void> =>
        Effect.andThen(
          answer(message),
          Effect.sync(() => {
            sendFailed(peer, message)
            logLine(peer, "REGISTER", status, code)
          }),
        )
      const refusal = limits.use(ticket, "events", peer.address)
      if (refusal !== undefined) return fail(texts.askedTooOften(MINUTE_SECONDS), refusal.status, refusal.outcome)
      return Effect.matchEffect(register(peer, ticket), {
        onSuccess: () => {
          limits.answered(ticket, peer.address, true)
          return Effect.andThen(
            answer(),
            Effect.sync(() => logLine(peer, "REGISTER", 200, "registered")),
          )
        },
        onFailure: (error) => {
          if (error._tag === "TicketUnknown") limits.answered(ticket, peer.address, false)
          const { code, status } = toProblem(error)
          return fail(error.message, status, code)
        },
      })
    }

    /** Returns a close code if the connection must be closed. */
    const handle = (peer: Peer, record: string): number | undefined => {
      if (!peer.handshakeDone) {
        const refusal = protocol.refuseHandshake(record)
        peer.ws.send(protocol.handshakeAnswer(refusal))
        if (refusal !== undefined) return 1002
        peer.handshakeDone = true
        if (peer.browser !== undefined) run(Effect.delay(restore(peer, peer.browser), REGISTER_MILLIS))
        return undefined
      }
      const message = protocol.readRecord(record)
      if (message === undefined) return 1002
      if (message._tag === "close") return 1000
      if (message._tag === "invocation") {
        peer.invocationCount++
        if (peer.invocationCount > MAX_INVOCATIONS) return 1008
        run(onInvocation(peer, message))
      }
      return undefined
    }

    /** Counts a message or ping, and closes the connection if it exceeds the limit. */
    const admits = (peer: Peer): boolean => {
      if (peer.limitExceeded) return false
      peer.messageCount++
      if (peer.messageCount <= MAX_MESSAGES) return true
      peer.limitExceeded = true
      peer.ws.close(1008, "too many messages")
      peer.ws.pause()
      logLine(peer, "", 0, "too_many_messages")
      return false
    }

    const onFrame = (peer: Peer, frame: string): void => {
      if (peer.limitExceeded) return
      peer.lastMessageAt = steady()
      for (const record of protocol.records(frame) ?? [""]) {
        if (!admits(peer)) return
        const code = handle(peer, record)
        if (code !== undefined) {
          peer.ws.close(code)
          return
        }
      }
    }

    return HubConnections.of({
      accept: (ws, { address, browser, caller }) => {
        const peer: Peer = {
          ws,
          caller,
          address,
          browser,
          lastMessageAt: steady(),
          handshakeDone: false,
          invocationCount: 0,
          messageCount: 0,
          limitExceeded: false,
          ticket: undefined,
          attached: undefined,
          starting: 0,
          draining: false,
        }
        peers.add(peer)
        ws.on("message", (data, isBinary) => {
          if (isBinary) ws.close(1003)
          else onFrame(peer, String(data))
        })
        ws.on("ping", () => admits(peer))
        ws.on("pong", () => admits(peer))
        ws.on("error", () => ws.terminate())
        ws.on("close", () => {
          peers.delete(peer)
          release(peer)
        })
      },
      drain: Effect.sync(() => {
        for (const peer of peers) if (peer.attached === undefined) sendReconnect(peer)
      }),
    })
  }),
)
