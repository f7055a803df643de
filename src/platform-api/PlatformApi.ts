/** The service `PlatformApi`, without its layer. */

import { Context, type Effect } from "effect"
import type { StartConfig } from "../protocol/request.ts"
import type { VendorWebhook } from "./adapter.ts"
import type { PlatformError } from "./errors.ts"
import type { Concurrency, Finding, Hears, LengthControl, RelayedSession, SessionState, WebSession } from "./model.ts"
import type { UnreadVerdict, WebhookVerdict } from "./webhooks/read.ts"

export class PlatformApi extends Context.Service<
  PlatformApi,
  {
    /**
     * Starts a web session of a configured campaign (`config.campaign` is its name in the settings). `group` is the caller's
     * coarse group (`gatekeeper/checks/caller-keys.ts`): failures of one group alone do not open the circuit. It is not sent.
     */
    readonly initiate: (config: StartConfig, group: string) => Effect.Effect<WebSession, PlatformError>
    /**
     * Begins the session of an `sdp-relay` credential with its page's SDP offer. Never repeated. Absent of a platform without such
     * credentials.
     */
    readonly relay?:
      | ((config: StartConfig, offer: string, group: string) => Effect.Effect<RelayedSession, PlatformError>)
      | undefined
    /**
     * Watches a running session: true when it is over, false when it cannot be watched. It may take as long as the session. A platform
     * without `watch` reports ends in another way. `hears` is told who speaks, where the platform says so meanwhile.
     */
    readonly watch?:
      | ((campaign: string, sessionId: string, hears?: Hears) => Effect.Effect<boolean, PlatformError>)
      | undefined
    /**
     * The account's concurrency. Fails with `Refused` when the key has no user management or the platform has no such endpoint.
     */
    readonly concurrency: (campaign: string) => Effect.Effect<Concurrency, PlatformError>
    /** Whether a session still runs, and its ids in the platform's history. */
    readonly sessionStatus: (campaign: string, sessionId: string) => Effect.Effect<SessionState, PlatformError>
    /**
     * The ids of each session of one client identifier in the web campaign that began after `since` (ms since 1970, by this
     * machine's clock), running or ended; undefined when the platform has no usable history.
     */
    readonly sessionsOf: (
      campaign: string,
      clientIdentifier: string,
      since: number,
    ) => Effect.Effect<ReadonlyArray<ReadonlyArray<string>> | undefined, PlatformError>
    /** Whether the platform ends a call at `Queue.MaxCallMinutes` by itself. Without it, the gate ends such calls. */
    readonly limitsCalls?: ((campaign: string) => boolean) | undefined
    /** Where the platform's limit of a call cannot be shorter (s), which matters only where the gate cannot end it; undefined for none. */
    readonly shortestCallSeconds?: ((campaign: string) => number | undefined) | undefined
    /** How long a start may take (ms), at most 25,000; 15,000 where it is undefined. */
    readonly startMillis?: ((campaign: string) => number | undefined) | undefined
    /** Whether the platform is set up to report the ends of the campaign's calls by webhooks that the gate accepts. Without it, it is not. */
    readonly reportsEnds?: ((campaign: string) => boolean) | undefined
    /** How far the gate can limit the length of the campaign's calls. Without it, a platform with `end` is `endable`, any other `unbounded`. */
    readonly lengthControl?: ((campaign: string) => LengthControl) | undefined
    /**
     * Ends a session whose caller has left, one that nobody can open, one that an operator ends, a silent one, or one that reaches
     * `Queue.MaxCallMinutes`. True if it is over now; false if that is not known yet; `unsupported` if the platform cannot be asked to end
     * it. Idempotent. Without it, only the platform ends its sessions.
     */
    readonly end?:
      | ((campaign: string, session: WebSession) => Effect.Effect<boolean | "unsupported", PlatformError>)
      | undefined
    /**
     * From when on (ms since 1970) the caller's report that a session is over is trusted, if nothing else can tell; undefined or absent
     * if the platform can.
     */
    readonly pageEnds?:
      | ((campaign: string, session: WebSession) => Effect.Effect<number | undefined, PlatformError>)
      | undefined
    /**
     * Authenticates and reads a webhook of a vendor, by the keys of all campaigns with this `Platform`. A host's own platform without it
     * calls `Gatekeeper.sessionEnded` itself.
     */
    readonly webhook?: ((platform: string, webhook: VendorWebhook) => Effect.Effect<WebhookVerdict>) | undefined
    /** Why `webhook` refuses a webhook with these headers whatever its body is; undefined if it needs the body. */
    readonly webhookRefusal?:
      | ((platform: string, headers: VendorWebhook["headers"]) => Effect.Effect<UnreadVerdict | undefined>)
      | undefined
    /**
     * Checks the campaign's settings with harmless reads, for `check`, the start and the console. What the platform does not
     * reveal is reported as not checked.
     */
    readonly verify: (campaign: string) => Effect.Effect<ReadonlyArray<Finding>>
  }
>()("voicegate/PlatformApi") {}
