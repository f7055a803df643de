/**
 * Registers a hub connection with a ticket: it then gets the ticket's events, and the gate starts the session when the ticket is
 * called. The last connection of a ticket wins: it replaces the one before, which may be half open. A reconnected widget does not name
 * its ticket, so it is restored from the tickets of its browser, however long the store or an older connection stands in the way.
 */

import { Context, Effect, Layer, Schedule } from "effect"
import { WebSocket } from "ws"
import { Gatekeeper } from "../../gatekeeper/Gatekeeper.ts"
import type { PushEvent } from "../../protocol/events.ts"
import type { StoreUnavailable } from "../../protocol/refusals.ts"
import { isTerminal } from "../../protocol/ticket.ts"
import { type Connection, type Opened, PushChannel, type TooManyConnections } from "../../push-channel/PushChannel.ts"
import { awaitStart } from "../push/await-start.ts"
import { type Browser, HubMemory } from "./HubMemory.ts"
import { isAnswering, type Peer, sendFailed, sendReady, sendReconnect, sendReplaced } from "./peer.ts"

/** How often a start, a registration or a lookup is retried while the store is unavailable. */
const RETRY_MILLIS = 500
/** How often a connection without a ticket looks whether a ticket of its browser has lost its connection. */
const RESTORE_MILLIS = 5_000

type StartError = Effect.Error<ReturnType<Gatekeeper["Service"]["start"]>>

const isOpen = ({ ws }: Peer): boolean => ws.readyState === WebSocket.OPEN

export class Registration extends Context.Service<
  Registration,
  {
    /** Registers a connection with the ticket that it names. Waits while the store is unavailable. */
    readonly register: (
      peer: Peer,
      ticket: string,
    ) => Effect.Effect<
      void,
      TooManyConnections | StoreUnavailable | Effect.Error<ReturnType<Gatekeeper["Service"]["attach"]>>
    >
    /**
     * Registers a reconnected widget, which does not name its ticket: with the newest living ticket of its browser whose connection here is
     * lost. While all of them are in use, it looks again, because a lost connection may seem alive at first.
     */
    readonly restore: (peer: Peer, browser: Browser) => Effect.Effect<void>
    /** Removes a connection from its ticket. */
    readonly release: (peer: Peer) => void
  }
>()("voicegate/http/Registration") {}

export const layer: Layer.Layer<Registration, never, Gatekeeper | HubMemory | PushChannel> = Layer.effect(
  Registration,
  Effect.gen(function* () {
    const memory = yield* HubMemory
    const gatekeeper = yield* Gatekeeper
    const channel = yield* PushChannel
    const run = Effect.runForkWith(yield* Effect.context<never>())
    /** The connection of each ticket. */
    const holders = new Map<string, Peer>()
    const restoring = new Set<string>()

    const release = (peer: Peer): void => {
      peer.attached?.close()
      peer.attached = undefined
      if (peer.ticket !== undefined && holders.get(peer.ticket) === peer) holders.delete(peer.ticket)
    }

    /** Retries while the store is unavailable and the connection waits here. */
    const retried = <A, E extends { readonly _tag: string }>(
      peer: Peer,
      effect: Effect.Effect<A, E>,
    ): Effect.Effect<A, E> =>
      Effect.retry(effect, {
        schedule: Schedule.spaced(RETRY_MILLIS),
        while: ({ _tag }) => _tag === "StoreUnavailable" && isOpen(peer) && !peer.draining,
      })

    /** Whether a failed start leaves the ticket's turn open: another attempt, here or at another instance, will end it. */
    const isTurnOpen = ({ draining }: Peer, tag: StartError["_tag"]): boolean =>
      tag === "NotYourTurn" || tag === "Draining" || (tag === "StoreUnavailable" && draining)

    /** Sends the outcome of a start that another connection of the ticket has requested. */
    const sendOutcome = (peer: Peer, ticket: string, opened: Opened): void => {
      run(awaitStart(gatekeeper.attach(ticket), () => peer.attached !== opened, opened))
    }

    /** Starts the session of a called ticket, and retries while the store is unavailable. */
    const startCall = (peer: Peer, ticket: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        peer.starting++
        return retried(peer, gatekeeper.start(ticket)).pipe(
          Effect.match({
            onSuccess: (session) => sendReady(peer, session),
            onFailure: ({ _tag, message }) => {
              if (!isTurnOpen(peer, _tag)) sendFailed(peer, message)
              else if (_tag === "NotYourTurn" && peer.attached !== undefined) sendOutcome(peer, ticket, peer.attached)
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
          sendReplaced(peer)
        } else if (reason === "shutdown" && peer.starting > 0) {
          // the client waits for the start's answer on this connection
          peer.draining = true
        } else {
          sendReconnect(peer)
        }
      },
    })

    /** Attaches a connection to a ticket, in place of any other connection of it here, and sends the current state. */
    const attach = (peer: Peer, ticket: string) =>
      Effect.gen(function* () {
        release(peer)
        peer.ticket = ticket
        const opened = yield* channel.open(ticket, peer.caller, connectionOf(peer, ticket))
        peer.attached = opened
        // nothing would unregister a connection that has closed meanwhile
        if (!isOpen(peer)) return release(peer)
        const event = yield* gatekeeper.attach(ticket)
        if (peer.browser !== undefined) yield* memory.remember(peer.browser, ticket)
        // meanwhile it may have registered again, or closed
        if (peer.attached !== opened) return opened.close()
        const before = holders.get(ticket)
        holders.set(ticket, peer)
        if (before !== undefined && before !== peer) {
          before.attached?.close()
          before.attached = undefined
          sendReplaced(before)
        }
        if (event === undefined) sendOutcome(peer, ticket, opened)
        else opened.send(event)
      }).pipe(Effect.tapError(() => Effect.sync(() => release(peer))))

    const register = (peer: Peer, ticket: string) => retried(peer, attach(peer, ticket))

    /** The tickets of a browser that are not over, newest first. */
    const livingTickets = (browser: Browser) =>
      Effect.gen(function* () {
        const living: Array<string> = []
        for (const ticket of yield* memory.recall(browser)) {
          const isLiving = yield* gatekeeper.status(ticket).pipe(
            Effect.map(({ state }) => !isTerminal(state)),
            Effect.catchTag("TicketUnknown", () => Effect.succeed(false)),
          )
          if (isLiving) living.push(ticket)
        }
        return living
      })

    /** The tickets that no connection here holds, or only one whose client does not answer; it is given with each. */
    const lostAmong = (tickets: ReadonlyArray<string>) =>
      Effect.filter(
        tickets.map((ticket) => ({ ticket, holder: holders.get(ticket) })),
        ({ holder }) => (holder === undefined ? Effect.succeed(true) : Effect.map(isAnswering(holder), (is) => !is)),
        { concurrency: "unbounded" },
      )

    const restore = (peer: Peer, browser: Browser): Effect.Effect<void> =>
      Effect.gen(function* () {
        // meanwhile it may register itself, or close
        const waits = (): boolean => peer.ticket === undefined && isOpen(peer) && !peer.draining
        if (!waits()) return
        let tickets: ReadonlyArray<string> = yield* retried(peer, livingTickets(browser))
        while (tickets.length > 0 && waits()) {
          const lost = yield* lostAmong(tickets)
          if (!waits()) return
          // another connection of the browser may have been faster
          const found = lost.find(({ holder, ticket }) => holders.get(ticket) === holder && !restoring.has(ticket))
          if (found === undefined) {
            yield* Effect.sleep(RESTORE_MILLIS)
            continue
          }
          const { ticket } = found
          restoring.add(ticket)
          const isRegistered = yield* register(peer, ticket).pipe(
            Effect.match({ onSuccess: () => true, onFailure: () => false }),
            Effect.ensuring(Effect.sync(() => restoring.delete(ticket))),
          )
          if (isRegistered || peer.ticket !== ticket) return
          peer.ticket = undefined
          tickets = tickets.filter((each) => each !== ticket)
        }
      }).pipe(Effect.catch(() => Effect.void))

    return Registration.of({ register, release, restore })
  }),
)
