/**
 * The platform's dashboard API as typed calls. A call that finds the session over waits until the same user has signed in
 * again and is then made again: nothing had been done, and what somebody was doing goes on.
 */
import { Effect, Result, type Schema } from "effect"
import { FetchHttpClient, type HttpClientError } from "effect/http"
import { HttpApiClient } from "effect/http-api"
import { DashboardApi } from "../../platform/http/DashboardApi.ts"
import type {
  Conflict,
  Forbidden,
  Invalid,
  NotFound,
  SignedOut,
  SignInFailed,
  TooManyAttempts,
  Unavailable,
} from "../../platform/http/dashboard/failures.ts"
import { signedInAgain } from "./session.ts"

export const api = Effect.runSync(
  HttpApiClient.make(DashboardApi, { baseUrl: location.origin }).pipe(Effect.provide(FetchHttpClient.layer)),
)

/** Longer than this the page does not wait for an answer. */
const TIMEOUT = "20 seconds"

/** Everything that a call can fail with. */
type CallError =
  | Conflict
  | Forbidden
  | Invalid
  | NotFound
  | SignedOut
  | SignInFailed
  | TooManyAttempts
  | Unavailable
  | HttpClientError.HttpClientError
  | Schema.SchemaError

export type Call<A> = Effect.Effect<A, CallError>

/** Why there is no value, as far as the page treats it differently. */
export type Failure =
  /** the platform says no */
  | { readonly kind: "refused"; readonly code: string; readonly message: string; readonly retryAfterSeconds?: number }
  /** no answer, or one of a proxy: it may pass by itself */
  | { readonly kind: "unreachable" }
  /** an answer that the page does not understand: page and platform are of different versions, or one has a defect */
  | { readonly kind: "broken" }
  | { readonly kind: "signed-out" }

const failureOf = (error: CallError): Failure => {
  switch (error._tag) {
    case "SignedOut":
      return { kind: "signed-out" }
    case "TooManyAttempts":
      return {
        kind: "refused",
        code: error.code,
        message: error.message,
        retryAfterSeconds: error.retryAfterSeconds,
      }
    case "Unavailable":
      return { kind: "unreachable" }
    case "HttpClientError": {
      const { reason } = error
      const status = "response" in reason ? reason.response.status : 0
      return { kind: reason._tag === "TransportError" || status >= 502 ? "unreachable" : "broken" }
    }
    case "SchemaError":
      return { kind: "broken" }
    default:
      return { kind: "refused", code: error.code, message: error.message }
  }
}

/** Makes a call once. Never rejects. */
export const callOnce = async <A>(effect: Call<A>): Promise<Result.Result<A, Failure>> =>
  Effect.runPromise(
    effect.pipe(
      Effect.timeoutOrElse({ duration: TIMEOUT, orElse: () => Effect.fail(undefined) }),
      Effect.mapError((error): Failure => (error === undefined ? { kind: "unreachable" } : failureOf(error))),
      Effect.catchDefect(() => Effect.fail<Failure>({ kind: "broken" })),
      Effect.result,
    ),
  )

/** Makes a call, and again when its user has signed in again. Never rejects. */
export const call = async <A>(effect: Call<A>): Promise<Result.Result<A, Failure>> => {
  const result = await callOnce(effect)
  if (Result.isSuccess(result) || result.failure.kind !== "signed-out") return result
  return (await signedInAgain()) ? call(effect) : result
}
