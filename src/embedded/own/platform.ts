/** A host's own voice-agent platform, as a plain object. */

import { Effect, Layer, Schema, SchemaIssue } from "effect"
import {
  AtCapacity,
  KeyRateLimited,
  PlatformError,
  Refused,
  RequestRefused,
  Unavailable,
  unavailable,
} from "../../platform-api/errors.ts"
import type { WebSession } from "../../platform-api/model.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import { Credential } from "../../protocol/credential.ts"
import type { StartConfig } from "../../protocol/request.ts"
import { checkMembers } from "./check.ts"

/**
 * Starts sessions. A method rejects with `AtCapacity`, `KeyRateLimited`, `RequestRefused`, `Refused` or `Unavailable`, which say what the
 * gate does next. Any other rejection is a platform that cannot be reached; a start may then have happened, and keeps its slot in doubt.
 */
export interface OwnPlatform {
  /** Starts a session, which its caller joins with its `webSocketUrl` or its `credential`. Never repeated. */
  readonly initiate: (start: StartConfig) => Promise<WebSession>
  /** The account's concurrency; without it and `MaxConcurrency`, the `AtCapacity` that `initiate` throws is the limit. */
  readonly concurrency?: (campaign: string) => Promise<typeof Concurrency.Type>
  /**
   * Whether a session still runs, asked of sessions older than a few minutes; and `opened`, whether somebody has joined a running one, for
   * `Queue.OpenSeconds`. Without `opened` that is not known.
   */
  readonly sessionStatus?: (campaign: string, sessionId: string) => Promise<typeof SessionState.Type>
  /** All ids of each session of a client identifier that began after `since` (ms since 1970); undefined when it cannot be told. */
  readonly sessionsOf?: (campaign: string, clientIdentifier: string, since: number) => Promise<typeof Sessions.Type>
  /**
   * Ends a session whose caller has left, or one that reaches `Queue.MaxCallMinutes`. True if it is over now; otherwise the gate asks
   * again. Idempotent.
   */
  readonly end?: (campaign: string, session: WebSession) => Promise<boolean>
}

const ids = Schema.Array(Schema.NonEmptyString)
const Session = Schema.Struct({
  sessionIds: ids.check(Schema.isMinLength(1)),
  webSocketUrl: Schema.optional(Schema.NonEmptyString),
  credential: Schema.optional(Credential),
}).check(Schema.makeFilter((session) => session.webSocketUrl !== undefined || session.credential !== undefined))
const Concurrency = Schema.Struct({ limit: Schema.Finite, inUse: Schema.Finite })
const SessionState = Schema.Struct({
  status: Schema.Literals(["running", "over", "unknown"]),
  sessionIds: ids,
  opened: Schema.optionalKey(Schema.UndefinedOr(Schema.Boolean)),
})
const Sessions = Schema.UndefinedOr(Schema.Array(ids))

const REASONS = [AtCapacity, KeyRateLimited, RequestRefused, Refused, Unavailable] as const

const reasonOf = (error: unknown): PlatformError["reason"] | undefined => {
  for (const Reason of REASONS) if (error instanceof Reason) return error
  return undefined
}

const listIssues = SchemaIssue.makeFormatterStandardSchemaV1({ leafHook: () => "", checkHook: () => "" })

/** The fields of an answer that are missing or wrong, without their values, which may be a credential. */
const wrongFields = (issue: SchemaIssue.Issue): string => {
  const paths = listIssues(issue).issues.map(({ path = [] }) => path.map(String).join("."))
  const fields = [...new Set(paths.filter((path) => path !== ""))]
  return fields.length === 0 ? "the whole answer, or a field that it needs" : `see ${fields.join(", ")}`
}

const ask = <A>(
  what: keyof OwnPlatform,
  answer: Schema.Decoder<A>,
  call: () => Promise<unknown>,
): Effect.Effect<A, PlatformError> => {
  const mayHaveHappened = what === "initiate"
  return Effect.tryPromise(async () => await call()).pipe(
    Effect.catch(({ cause: error }) => {
      if (error instanceof PlatformError) return Effect.fail(error)
      const reason = reasonOf(error)
      return reason !== undefined
        ? Effect.fail(new PlatformError({ reason }))
        : Effect.andThen(
            Effect.logError(`${what} of the host's platform failed.`, error),
            Effect.fail(unavailable("unreachable", mayHaveHappened, "the host's platform failed")),
          )
    }),
    Effect.flatMap((given) =>
      Schema.decodeUnknownEffect(answer)(given).pipe(
        // without the answer, which may contain a credential
        Effect.tapError(({ issue }) =>
          Effect.logError(`${what} of the host's platform gave an answer of a wrong shape: ${wrongFields(issue)}.`),
        ),
        Effect.mapError(() => unavailable("malformed", mayHaveHappened, "the host's platform gave a wrong answer")),
      ),
    ),
  )
}

const unsupported = (detail: string): PlatformError =>
  new PlatformError({ reason: new Refused({ status: 501, code: "", message: `the host's platform has no ${detail}` }) })

export const ownPlatform = (own: OwnPlatform): Layer.Layer<PlatformApi> => {
  checkMembers("options.platform", own, {
    required: { initiate: "function" },
    optional: { concurrency: "function", sessionStatus: "function", sessionsOf: "function", end: "function" },
  })
  const concurrency = own.concurrency?.bind(own)
  const end = own.end?.bind(own)
  const sessionStatus = own.sessionStatus?.bind(own)
  const sessionsOf = own.sessionsOf?.bind(own)
  return Layer.succeed(
    PlatformApi,
    PlatformApi.of({
      initiate: (start) => ask("initiate", Session, () => own.initiate(start)),
      concurrency: (campaign) =>
        concurrency === undefined
          ? Effect.fail(unsupported("concurrency"))
          : ask("concurrency", Concurrency, () => concurrency(campaign)),
      sessionStatus: (campaign, sessionId) =>
        sessionStatus === undefined
          ? Effect.succeed({ status: "unknown", sessionIds: [] })
          : ask("sessionStatus", SessionState, () => sessionStatus(campaign, sessionId)),
      sessionsOf: (campaign, clientIdentifier, since) =>
        sessionsOf === undefined
          ? Effect.undefined
          : ask("sessionsOf", Sessions, () => sessionsOf(campaign, clientIdentifier, since)),
      ...(end === undefined
        ? {}
        : { end: (campaign, session) => ask("end", Schema.Boolean, () => end(campaign, session)) }),
      verify: () =>
        Effect.succeed([{ subject: "platform", state: "not_checked", detail: "the host has its own platform" }]),
    }),
  )
}
