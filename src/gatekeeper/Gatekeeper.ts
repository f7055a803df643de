/**
 * What the gatekeeper promises. `pipeline.ts` has the order of its checks. The implementation (`layer.ts`) is apart: a host that imports
 * the package loads it only when it builds the layer.
 */

import { Context, Effect } from "effect"
import type { PlatformState } from "../fifo-queue/operator/schemas.ts"
import type { VendorWebhook } from "../platform-api/adapter.ts"
import type { Availability } from "../protocol/availability.ts"
import type { PushEvent } from "../protocol/events.ts"
import type { Identity } from "../protocol/identity.ts"
import type { OfferKind } from "../protocol/offers.ts"
import type {
  BudgetExhausted,
  Draining,
  InvalidRequest,
  RequestRefusal,
  StartFailed,
  StoreUnavailable,
} from "../protocol/refusals.ts"
import type { Queued, Relayed, Started } from "../protocol/session-answers.ts"
import type { NotYourTurn, TicketOver, TicketStatus, TicketUnknown } from "../protocol/ticket.ts"
import type { NotReleased, ReceiveWebhook, UnreadOutcome } from "./calls/ReceiveWebhook.ts"
import type { Relay } from "./calls/Relay.ts"
import type { Internals } from "./Internals.ts"
import type { TraceOfTicket } from "./Traces.ts"
import { asWritten, requestOf, type WebSessionConfig } from "./web-session.ts"

/** Who makes a request. */
export interface Caller {
  /** the client's address in canonical form */
  readonly address: string
  /** a token beside the body, as of `Authorization: Bearer`; that of the body wins. Undefined and empty for none */
  readonly token?: string | undefined
  /** who the caller is, as the host itself has verified; then no token is read */
  readonly identity?: Identity | undefined
  /** is told the subject of a caller as soon as it is known, also if the request is refused later */
  readonly identified?: ((subject: string) => void) | undefined
}

/** Every outcome of a request other than a started session. */
export type RequestError = RequestRefusal | Queued

export class Gatekeeper extends Context.Service<
  Gatekeeper,
  {
    /** Runs an undecoded request body through the pipeline. */
    readonly request: (body: unknown, caller: Caller) => Effect.Effect<Started, RequestError>
    /** Whether a newcomer would be served now, and when; answered from memory. Fails with `InvalidRequest` for an unknown campaign. */
    readonly availability: (campaignId?: string) => Effect.Effect<Availability, InvalidRequest>
    /** Starts the session of a called ticket. Idempotent: while the session is live, it returns the same session. */
    readonly start: (
      ticket: string,
    ) => Effect.Effect<
      Started,
      TicketUnknown | NotYourTurn | TicketOver | BudgetExhausted | StartFailed | StoreUnavailable | Draining
    >
    /** The page of a started ticket makes its SDP offer with the token of its credential; succeeds with the vendor's answer. */
    readonly relay: (
      ...offer: Parameters<Relay["Service"]>
    ) => Effect.Effect<Relayed, Effect.Error<ReturnType<Relay["Service"]>> | Draining>
    /**
     * The page of a running call reports how long nobody has spoken (ms), 0 when somebody speaks. Succeeds with when the call ends unless
     * somebody speaks (ms since 1970); with undefined when no end is due, as before the call, or without `SilenceSeconds`.
     */
    readonly silence: (
      ticket: string,
      silentMillis: number,
    ) => Effect.Effect<number | undefined, TicketUnknown | TicketOver | StoreUnavailable>
    /**
     * Gives up a place or a reserved slot, or ends a running call where the platform can end it. Idempotent. `taken`: the caller leaves for
     * something that was offered (`Overflow`), which is counted.
     */
    readonly leave: (ticket: string, taken?: OfferKind) => Effect.Effect<void, StoreUnavailable>
    /**
     * Withdraws a ticket that `request` has just returned, because its answer could not be delivered. Runs in the background.
     * Does not end a session that is already live.
     */
    readonly withdraw: (ticket: string, caller: Caller) => Effect.Effect<void>
    /**
     * The ticket's state and position. Each call counts as presence. If the page is `hidden` and the ticket is called, its turn is
     * extended.
     */
    readonly status: (ticket: string, hidden?: boolean) => Effect.Effect<TicketStatus, TicketUnknown | StoreUnavailable>
    /** Whether the ticket is called now. Costs at most one read a second of its campaign, however many ask. */
    readonly isCalled: (ticket: string) => Effect.Effect<boolean>
    /** Handles a session's end, reported under any of its ids. True if that freed a slot. */
    readonly sessionEnded: (sessionIds: ReadonlyArray<string>) => Effect.Effect<boolean, StoreUnavailable>
    /** The same; says why it has freed no slot. */
    readonly endReported: (
      sessionIds: ReadonlyArray<string>,
    ) => Effect.Effect<"released" | Extract<NotReleased, "repeat" | "unknown_session">, StoreUnavailable>
    /**
     * The event that a connection just opened on this instance must receive first. Open the connection in `PushChannel` before. If the
     * page is `hidden` and the ticket is called, its turn is extended.
     */
    readonly attach: (
      ticket: string,
      hidden?: boolean,
    ) => Effect.Effect<PushEvent | undefined, TicketUnknown | StoreUnavailable>
    /** Handles a webhook of a vendor, by the keys of the campaigns whose `Platform` it is. */
    readonly vendorWebhook: ReceiveWebhook["Service"]
    /** The span that continues a ticket's trace; undefined without a tracer, or for a ticket without a trace. */
    readonly traceOf: TraceOfTicket
    /** Why `vendorWebhook` refuses a webhook with these headers, whatever its body is; undefined if it needs the body. */
    readonly vendorWebhookRefusal: (
      platform: string,
      headers: VendorWebhook["headers"],
    ) => Effect.Effect<UnreadOutcome | undefined>
    /** Why the slots of a campaign are unknown, as a public message; undefined if all are known. */
    readonly capacityProblem: Effect.Effect<string | undefined>
    /** The campaign whose last sweep failed, as a public message; undefined if none. */
    readonly queueProblem: Effect.Effect<string | undefined>
    /** Of each campaign whose platform serves nobody: why (`fifo-queue/rules/shared/platform-state.ts`). */
    readonly platformStates: Effect.Effect<Readonly<Record<string, PlatformState["state"]>>>
    /** What an operator sees and acts through (`operator/`). A reload replaces it: only what is replaced with it may keep it. */
    readonly internals: () => Internals["Service"]
    /**
     * Refuses new requests and starts with `Draining`, and waits at most `CLOSE_MILLIS` for starts in progress. A start that the
     * platform has not answered by then fails. Idempotent. The layer's finalizer does it too.
     */
    readonly close: Effect.Effect<void>
  }
>()("voicegate/Gatekeeper") {}

/**
 * The platform's embedded operation, through the gate. Succeeds with the session's WebSocket URL. A campaign of a vendor has no such
 * URL: its sessions are started by `Gatekeeper.request`.
 */
export const initiateWebSession = (
  config: WebSessionConfig,
  caller: Caller,
): Effect.Effect<string, RequestError, Gatekeeper> =>
  Gatekeeper.use((gatekeeper) => {
    const body = requestOf(config, gatekeeper.internals().campaigns)
    return Effect.flatMap(Effect.fromResult(body), (valid) =>
      gatekeeper.request(valid, caller).pipe(
        Effect.map(({ webSocketUrl = "" }) => webSocketUrl),
        Effect.mapError(asWritten),
      ),
    )
  })
