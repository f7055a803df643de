/**
 * Typed calls of the platform's dashboard API. A call that fails because the session has ended waits until the same user has signed in
 * again, and is then repeated.
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

const TIMEOUT = "20 seconds"

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

/** Why a call failed, by how the page handles it. */
export type Failure =
  /** the platform refused it */
  | {
      readonly kind: "refused"
      readonly code: string
      readonly message: string
      readonly retryAfterSeconds?: number
      /** the fields that are wrong, when the platform names them */
      readonly fields?: ReadonlyArray<{ readonly field: string; readonly message: string }>
    }
  /** no answer, or one from a proxy: a retry may help */
  | { readonly kind: "unreachable" }
  /** an answer that cannot be decoded: page and platform have different versions, or a bug */
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
    case "Invalid": {
      const { code, fields, message } = error
      return { kind: "refused", code, message, ...(fields && { fields }) }
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

/** Makes a call once, without waiting for a new sign-in. Never rejects. */
const callOnce = async <A>(effect: Call<A>): Promise<Result.Result<A, Failure>> =>
  Effect.runPromise(
    effect.pipe(
      Effect.timeoutOrElse({ duration: TIMEOUT, orElse: () => Effect.fail(undefined) }),
      Effect.mapError((error): Failure => (error === undefined ? { kind: "unreachable" } : failureOf(error))),
      Effect.catchDefect(() => Effect.fail<Failure>({ kind: "broken" })),
      Effect.result,
    ),
  )

/** Makes a call, and repeats it if the user had to sign in again. Never rejects. */
export const call = async <A>(effect: Call<A>): Promise<Result.Result<A, Failure>> => {
  const result = await callOnce(effect)
  if (Result.isSuccess(result) || result.failure.kind !== "signed-out") return result
  return (await signedInAgain()) ? call(effect) : result
}
