/**
 * The cookies of the dashboard: one contains the session, one marks a browser that has signed in before (`KnownBrowser`). Scripts
 * cannot read them, and other sites' requests do not contain them.
 */
import { Effect } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import { KNOWN_MILLIS } from "../../users/KnownBrowser.ts"
import { DASHBOARD_API_PATH } from "../DashboardApi.ts"

const SESSION = "voicegate_session"
const BROWSER = "voicegate_browser"

const write = (name: string, value: string, secure: boolean, maxAgeMillis: number) =>
  HttpEffect.appendPreResponseHandler((_request, response) =>
    Effect.orDie(
      HttpServerResponse.setCookie(response, name, value, {
        httpOnly: true,
        sameSite: "strict",
        secure,
        path: DASHBOARD_API_PATH,
        maxAge: maxAgeMillis,
      }),
    ),
  )

/** The request's session token. */
export const readCookie: Effect.Effect<string | undefined, never, HttpServerRequest.HttpServerRequest> = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ cookies }) => cookies[SESSION],
)

/** @param secure whether the browser sends it over TLS only */
export const setCookie = (token: string, secure: boolean, lifetimeMillis: number) =>
  write(SESSION, token, secure, lifetimeMillis)

export const clearCookie = (secure: boolean) => write(SESSION, "", secure, 0)

export const readMark: Effect.Effect<string | undefined, never, HttpServerRequest.HttpServerRequest> = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ cookies }) => cookies[BROWSER],
)

/** It stays after signing out. */
export const setMark = (mark: string, secure: boolean) => write(BROWSER, mark, secure, KNOWN_MILLIS)

/** Whether a cookie is Secure: when browsers always use TLS, or this request did. */
export const secureCookie = (
  secureOrigin: boolean,
): Effect.Effect<boolean, never, HttpServerRequest.HttpServerRequest> =>
  Effect.map(HttpServerRequest.HttpServerRequest, ({ protocol }) => secureOrigin || protocol === "https")
