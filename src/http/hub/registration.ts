/**
 * Registers a hub connection with a ticket: it then gets the ticket's events, and the gate starts the session when the ticket is
 * called. A reconnected widget does not name its ticket, so it is restored from the tickets of its browser.
 */
import { Effect, Schedule } from "effect"
import { WebSocket } from "ws"
import { Gatekeeper } from "../../Gatekeeper.ts"
import { type Connection, PushChannel } from "../../PushChannel.ts"
import { isTerminal, type PushEvent } from "../../Session.ts"
import { awaitStart } from "../await-start.ts"
import type { Browser, HubMemory } from "./memory.ts"
import { type Peer, sendFailed, sendReady, sendReconnect } from "./peer.ts"
import * as protocol from "./protocol.ts"

/** How often a start is retried while the store is unavailable. */
const START_RETRY_MILLIS = 500

type StartError = Effect.Error<ReturnType<Gatekeeper["Service"]["start"]>>

/** @param peers the open connections */
export const makeRegistration = Effect.fnUntraced(function* (memory: HubMemory, peers: ReadonlySet<Peer>) {
  const gatekeeper = yield* Gatekeeper
  const channel = yield* PushChannel
  const run = Effect.runForkWith(yield* Effect.context<never>())

  /** Whether a failed start leaves the ticket's turn open: another attempt, here or at another instance, will end it. */
  const isTurnOpen = ({ draining }: Peer, tag: StartError["_tag"]): boolean =>
    tag === "NotYourTurn" || tag === "Draining" || (tag === "StoreUnavailable" && draining)

  /** Starts the session of a called ticket, and retries while the store is unavailable. */
  const startCall = (peer: Peer, ticket: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      peer.starting++
      return gatekeeper.start(ticket).pipe(
        Effect.retry({
          schedule: Schedule.spaced(START_RETRY_MILLIS),
          while: ({ _tag }) => _tag === "StoreUnavailable" && peer.ws.readyState === WebSocket.OPEN && !peer.draining,
        }),
        Effect.match({
          onSuccess: (session) => sendReady(peer, session),
          onFailure: ({ _tag, message }) => {
            if (!isTurnOpen(peer, _tag)) sendFailed(peer, message)
          },
        }),
        Effect.ensuring(
          Effect.sync(() => {
            peer.starting--
            if (peer.draining && peer.starting === 0) sendReconnect(peer)
          }),
        ),
      )
    })

  const onEvent = (peer: Peer, ticket: string, event: PushEvent): void => {
    if (event.type === "start_call") run(startCall(peer, ticket))
    else if (event.type === "session") sendReady(peer, event)
    else if (event.type === "ended") sendFailed(peer, event.message)
  }

  const connectionOf = (peer: Peer, ticket: string): Connection => ({
    send: (event) => onEvent(peer, ticket, event),
    backlog: () => peer.ws.bufferedAmount,
    // the hub has its own ping
    ping: () => true,
    close: (reason) => {
      // the widget closes the connection itself when its ticket is over
      if (reason === "over") return
      if (reason === "dead") {
        peer.ws.terminate()
      } else if (reason === "replaced") {
        peer.ws.send(protocol.close(false))
        peer.ws.close(1000)
      } else if (reason === "shutdown" && peer.starting > 0) {
        // the client waits for the start's answer on this connection
        peer.draining = true
      } else {
        sendReconnect(peer)
      }
    },
  })

  /** Attaches a connection to a ticket, and sends the current state. */
  const register = (peer: Peer, ticket: string) =>
    Effect.gen(function* () {
      peer.attached?.close()
      const opened = yield* channel.open(ticket, peer.caller, connectionOf(peer, ticket))
      peer.ticket = ticket
      peer.attached = opened
      const event = yield* Effect.tapError(gatekeeper.attach(ticket), () => Effect.sync(() => opened.close()))
      if (peer.browser !== undefined) yield* memory.remember(peer.browser, ticket)
      if (event !== undefined) opened.send(event)
      else run(awaitStart(gatekeeper.attach(ticket), () => peer.attached !== opened || !peers.has(peer), opened))
    })

  /** Registers a reconnected widget, which does not name its ticket: with the newest ticket of its browser that has no connection here. */
  const restore = (peer: Peer, browser: Browser): Effect.Effect<void> =>
    Effect.gen(function* () {
      if (peer.ticket !== undefined || peer.ws.readyState !== peer.ws.OPEN) return
      const held = new Set(yield* channel.tickets)
      for (const ticket of yield* memory.recall(browser)) {
        if (held.has(ticket)) continue
        const status = yield* Effect.option(gatekeeper.status(ticket))
        // meanwhile it may have registered itself, or closed: a closed one must not be registered, as nothing would unregister it
        if (peer.ticket !== undefined || peer.ws.readyState !== peer.ws.OPEN) return
        if (status._tag === "Some" && !isTerminal(status.value.state)) return yield* register(peer, ticket)
      }
    }).pipe(Effect.catch(() => Effect.void))

  return { register, restore }
})
