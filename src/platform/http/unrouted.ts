/**
 * Answers requests that no other route takes: 405 with `Allow` when the path has other methods, 204 with it for OPTIONS, else 404.
 * At and below `/user` only a key with user management learns which, because everything there is closed to others.
 */
import { Effect } from "effect"
import { FindMyWay, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { Access } from "../keys/Access.ts"
import { Api } from "./Api.ts"
import { callerOf } from "./credential.ts"
import { DashboardApi } from "./DashboardApi.ts"
import { failure, statusOf, toFailure } from "./envelope.ts"

/** Without HEAD, which the routes of GET answer. */
const ROUTED = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const

/** The paths outside of the two APIs, all of which are only read. */
const PAGES = ["/", "/assets/*", "/docs", "/openapi.json", "/preview", "/session/:webSessionId"] as const

/** The longest id that a schema accepts has 256 characters, each at most 12 bytes when it is percent-encoded. */
export const ROUTER = { maxParamLength: 256 * 12 } as const

const isPath = (path: string): path is FindMyWay.PathInput => path.startsWith("/")

const makeTable = (): FindMyWay.Router<true> => {
  const table = FindMyWay.make<true>(ROUTER)
  const add = (method: string, path: string): void => {
    if (isPath(path)) table.on(method === "GET" ? ["GET", "HEAD"] : method, path, true)
  }
  const onEndpoint = ({ endpoint }: { readonly endpoint: HttpApiEndpoint.Top }) => add(endpoint.method, endpoint.path)
  HttpApi.reflect(Api, { onGroup: () => {}, onEndpoint })
  HttpApi.reflect(DashboardApi, { onGroup: () => {}, onEndpoint })
  for (const path of PAGES) add("GET", path)
  return table
}

const makeUserPaths = (): FindMyWay.Router<true> => {
  const table = FindMyWay.make<true>(ROUTER)
  for (const path of ["/api/v1/user", "/api/v1/user/*"] as const) table.on("GET", path, true)
  return table
}

const answer = (status: number, code: string, message: string, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.jsonUnsafe(failure(code, message), { status, headers })

const unrouted = Effect.gen(function* () {
  const access = yield* Access
  const table = makeTable()
  const userPaths = makeUserPaths()
  return Effect.gen(function* () {
    const { method, originalUrl: url } = yield* HttpServerRequest.HttpServerRequest
    if (userPaths.find("GET", url) !== undefined) {
      const caller = yield* callerOf(access, "request")
      yield* Effect.mapError(access.userManagement(caller), toFailure())
    }
    const allowed = METHODS.filter((each) => table.find(each, url) !== undefined)
    if (allowed.length === 0) return answer(404, "ROUTE_NOT_FOUND", "there is no such endpoint or page")
    const allow = [...allowed, "OPTIONS"].join(", ")
    if (method === "OPTIONS") return HttpServerResponse.empty({ status: 204, headers: { allow } })
    return answer(405, "METHOD_NOT_ALLOWED", `this path does not support ${method}; it supports ${allow}`, { allow })
  }).pipe(Effect.catch((failed) => Effect.succeed(answer(statusOf(failed), failed.code, failed.message))))
})

/** To be added after all other routes of the server. */
export const unroutedRequests = HttpRouter.use((router) =>
  Effect.flatMap(unrouted, (handler) =>
    Effect.forEach(ROUTED, (method) => router.add(method, "*", handler), { discard: true }),
  ),
)
