/**
 * Push over WebSocket and Server-Sent Events, on the same path. A connection is registered with the push channel before its ticket is
 * looked up. Events that occur before the connection is upgraded are buffered.
 */

import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { Clock, Context, Effect, Exit, Layer, Option, Schema } from "effect"
import { WebSocketServer } from "ws"
import { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import { warningIn, warningOf } from "../../gatekeeper/outcomes.ts"
import { limitKey } from "../../lib/ip/address.ts"
import { type PushEvent, SilenceReport, sessionEvent } from "../../protocol/events.ts"
import * as texts from "../../protocol/texts.ts"
import { type Opened, PushChannel } from "../../push-channel/PushChannel.ts"
import { type Answer, failed } from "../answers/answer.ts"
import { toProblem } from "../answers/failures.ts"
import { NO_SILENCE } from "../requests/api.ts"
import { TicketLimits } from "../requests/ticket-limits.ts"
import { awaitStart } from "./await-start.ts"
import { BufferedConnection } from "./buffered-connection.ts"
import { type ClientMessage, type OnCommand, TicketSocket, WebSocketTransport } from "./websocket-transport.ts"

/** No message of a client is longer (`PushCommand`). */
const MAX_MESSAGE_BYTES = 1024
/** Limits of the fragments of a message, and of the network's chunks of a frame: each is kept as an object of some 400 bytes. */
const MAX_FRAGMENTS = 16
const MAX_CHUNKS = 64
const CLOSE_TIMEOUT_MILLIS = 2_000

const SERVER_OPTIONS = {
  noServer: true,
  WebSocket: TicketSocket,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: MAX_MESSAGE_BYTES,
  closeTimeout: CLOSE_TIMEOUT_MILLIS,
  maxFragments: MAX_FRAGMENTS,
  maxBufferedChunks: MAX_CHUNKS,
}

const decodeReport = Schema.decodeUnknownOption(SilenceReport)

/** A page that connects anew in a call may have missed that its time limit is near. */
const warningAfter = (event: PushEvent | undefined): Effect.Effect<PushEvent | undefined> => {
  if (event?.type !== "session" || event.endsAt === undefined) return Effect.undefined
  const endsAt = Date.parse(event.endsAt)
  return Effect.map(Clock.currentTimeMillis, (now) => {
    const warning = warningIn({ endsAt }, now)
    return warning === undefined ? undefined : { type: "warning", ...warning }
  })
}

/** Both operations return a refusal, or undefined if the connection is open. */
export class Push extends Context.Service<
  Push,
  {
    readonly upgrade: (
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
      ticket: string,
      address: string,
    ) => Effect.Effect<Answer | undefined>
    readonly events: (response: ServerResponse, ticket: string, address: string) => Effect.Effect<Answer | undefined>
  }
>()("voicegate/http/Push") {}

export const layer: Layer.Layer<Push, never, Gatekeeper | PushChannel | TicketLimits> = Layer.effect(
  Push,
  Effect.gen(function* () {
    const limits = yield* TicketLimits
    const gatekeeper = yield* Gatekeeper
    const channel = yield* PushChannel
    const run = Effect.runForkWith(yield* Effect.context<never>())
    const server = new WebSocketServer(SERVER_OPTIONS)

    /** Registers the connection and sends the ticket's current state. `openTransport` runs if the ticket exists. */
    const attach = (
      ticket: string,
      address: string,
      isClosed: () => boolean,
      openTransport: (opened: Opened, connection: BufferedConnection) => void,
    ): Effect.Effect<Answer | undefined> =>
      Effect.gen(function* () {
        const connection = new BufferedConnection()
        const opened = yield* channel.open(ticket, limitKey(address), connection)
        const exit = yield* Effect.exit(gatekeeper.attach(ticket))
        if (Exit.isFailure(exit) || isClosed()) {
          opened.close()
          return yield* Exit.isFailure(exit) ? Effect.failCause(exit.cause) : Effect.succeed(undefined)
        }
        if (exit.value !== undefined) opened.send(exit.value)
        const warning = yield* warningAfter(exit.value)
        if (warning !== undefined) opened.send(warning)
        openTransport(opened, connection)
        if (exit.value === undefined) run(awaitStart(gatekeeper.attach(ticket), isClosed, opened))
        return undefined
      }).pipe(Effect.catch((error) => Effect.succeed(failed(error))))

    const handleCommand = (
      ticket: string,
      opened: Opened,
      connection: BufferedConnection,
      message: ClientMessage,
    ): Effect.Effect<void> => {
      const { type } = message
      const answer = (event: PushEvent): Effect.Effect<void> => Effect.sync(() => opened.send(event))
      const refuse = (code: string, text: string): Effect.Effect<void> => answer({ type: "error", code, message: text })
      if (limits.use(ticket, "command", undefined) !== undefined) return refuse("rate_limited", texts.askedTooOften(60))
      if (type === "start") {
        const started = Effect.matchEffect(gatekeeper.start(ticket), {
          onFailure: (error) => {
            const { code, detail } = toProblem(error)
            return refuse(code, detail)
          },
          onSuccess: (session) => answer(sessionEvent(session)),
        })
        return connection.whileStarting(started)
      }
      if (type === "leave") {
        // a start or a call that is under way ends later, and its end is pushed then
        const tellEnd = Effect.matchEffect(gatekeeper.attach(ticket), {
          onFailure: () => answer({ type: "ended", reason: "left", message: texts.ended("left") }),
          onSuccess: (event) => (event?.type === "ended" ? answer(event) : Effect.void),
        })
        return Effect.matchEffect(gatekeeper.leave(ticket), {
          onFailure: () => refuse("store_unavailable", texts.storeUnavailable),
          onSuccess: () => tellEnd,
        })
      }
      if (type === "hidden") {
        return Effect.matchEffect(gatekeeper.attach(ticket, true), {
          onFailure: (error) => {
            const { code, detail } = toProblem(error)
            return refuse(code, detail)
          },
          onSuccess: (event) => (event === undefined ? Effect.void : answer(event)),
        })
      }
      if (type === "silence") {
        const report = decodeReport(message)
        if (Option.isNone(report)) return refuse("invalid_message", `seconds: ${NO_SILENCE}.`)
        return Effect.matchEffect(gatekeeper.silence(ticket, report.value.seconds * 1000), {
          onFailure: (error) => {
            const { code, detail } = toProblem(error)
            return refuse(code, detail)
          },
          onSuccess: (endsAt) =>
            answer({
              type: "warning",
              ...(endsAt === undefined ? ({ reason: "silence", endsAt: null } as const) : warningOf(endsAt)),
            }),
        })
      }
      return refuse(
        "invalid_message",
        'Expected {"type":"start"}, {"type":"leave"}, {"type":"hidden"} or {"type":"silence","seconds":…}.',
      )
    }

    const onCommand: OnCommand = ({ connection, opened, ticket }, command) => {
      run(handleCommand(ticket, opened, connection, command))
    }

    /** Serves an open WebSocket. Without closures, which would keep the upgrade's request in memory. */
    const serve = (
      ws: TicketSocket,
      socket: Duplex,
      ticket: string,
      opened: Opened,
      connection: BufferedConnection,
    ): void => {
      const transport = new WebSocketTransport(ws, socket, ticket, opened, connection, onCommand)
      ws.serve(transport)
      connection.open(transport)
    }

    return Push.of({
      upgrade: (request, socket, head, ticket, address) =>
        attach(
          ticket,
          address,
          () => socket.destroyed,
          (opened, connection) => {
            let isOpen = false
            try {
              // it calls back before it returns, unless it refuses the handshake
              server.handleUpgrade(request, socket, head, (ws) => {
                isOpen = true
                serve(ws, socket, ticket, opened, connection)
              })
            } finally {
              // it throws when a host passes an upgrade on twice
              if (!isOpen) opened.close()
            }
          },
        ),
      events: (response, ticket, address) =>
        attach(
          ticket,
          address,
          () => response.destroyed || response.writableEnded,
          (opened, connection) => {
            response.on("close", () => opened.close())
            response.writeHead(200, {
              "content-type": "text/event-stream; charset=utf-8",
              // a compressing middleware of the host would hold events back
              "cache-control": "no-store, no-transform",
              // a buffering proxy would hold events back
              "x-accel-buffering": "no",
            })
            response.flushHeaders()
            connection.open({
              write: (event, text) => response.write(`event: ${event.type}\ndata: ${text}\n\n`),
              backlog: () => response.writableLength,
              ping: () => !response.destroyed && response.write(": ping\n\n") !== undefined,
              // `end` would wait for a client that no longer reads
              close: (reason) => (reason === "dead" || reason === "lagging" ? response.destroy() : response.end()),
            })
          },
        ),
    })
  }),
)
