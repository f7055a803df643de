/** The cookie that holds a session of the dashboard: scripts cannot read it, and other sites' requests do not carry it. */
import { Effect } from "effect"
import { HttpEffect, HttpServerRequest, HttpServerResponse } from "effect/http"
import { DASHBOARD_API_PATH } from "../DashboardApi.ts"

const NAME = "voicegate_session"

const write = (value: string, secure: boolean, maxAgeMillis: number) =>
  HttpEffect.appendPreResponseHandler((_request, response) =>
    Effect.orDie(
      HttpServerResponse.setCookie(response, NAME, value, {
        httpOnly: true,
        sameSite: "strict",
        secure,
        path: DASHBOARD_API_PATH,
        maxAge: maxAgeMillis,
      }),
    ),
  )

/** What the request carries. */
export const readCookie: Effect.Effect<string | undefined, never, HttpServerRequest.HttpServerRequest> = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ cookies }) => cookies[NAME],
)

/** @param secure whether the browser may send it over TLS only */
export const setCookie = (token: string, secure: boolean, lifetimeMillis: number) =>
  write(token, secure, lifetimeMillis)

export const clearCookie = (secure: boolean) => write("", secure, 0)
