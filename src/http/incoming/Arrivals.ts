/** What every listener needs of a request when it arrives: its id, its path, its caller, and the log of those that are refused early. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Context, Effect, Layer } from "effect"
import { admitPipelined } from "../../serving/pipelining.ts"
import type { Settings } from "../../settings/Settings.ts"
import type { AccessLogService } from "../access-log/access-log.ts"
import { GateLog } from "../access-log/GateLog.ts"
import { currentAddressOf, watchAddresses } from "./client-address.ts"
import { oneFormOf, targetOf, ticketAt } from "./paths.ts"
import { makeRequestIds } from "./request-id.ts"

/** A request or connection that was refused before it reached the listeners, for the access log. */
export interface Refused {
  /** absent if no request could be parsed */
  readonly request?: IncomingMessage
  /** the socket's address, if there is no request */
  readonly address?: string
  /** 0 when nothing was answered */
  readonly status: number
  readonly outcome: string
}

export class Arrivals extends Context.Service<
  Arrivals,
  {
    readonly log: AccessLogService
    readonly requestIdOf: (request: IncomingMessage) => string
    /** Undefined if it is unknown. */
    readonly addressOf: (request: IncomingMessage) => string | undefined
    /** The path without the base path and the query; removes the base path from the request's URL. */
    readonly pathOf: (request: IncomingMessage) => string
    readonly logRefusal: (refusal: Refused) => void
    /** Whether a request may be answered. Otherwise its connection is closed, because it has too many unanswered pipelined requests. */
    readonly admits: (request: IncomingMessage, response: ServerResponse) => boolean
  }
>()("voicegate/http/Arrivals") {}

/** @param basePath where a host has mounted the gate, such as `/voice`; else empty */
export const layer = (basePath: string): Layer.Layer<Arrivals, never, GateLog | Settings> =>
  Layer.effect(
    Arrivals,
    Effect.gen(function* () {
      const log = yield* GateLog
      const read = yield* currentAddressOf
      const watch = yield* watchAddresses
      const requestIdOf = makeRequestIds()
      const addressOf = (request: IncomingMessage): string | undefined => {
        watch(request)
        return read(request)
      }

      const pathOf = (request: IncomingMessage): string => {
        const url = targetOf(request)
        request.url = url
        if (basePath !== "" && (url === basePath || url.startsWith(`${basePath}/`))) {
          request.url = url.slice(basePath.length) || "/"
        }
        const own = request.url ?? "/"
        const [given = "/"] = own.split("?", 1)
        const path = oneFormOf(given)
        if (path !== given) request.url = path + own.slice(given.length)
        return path
      }

      const logRefusal = ({ address = "", outcome, request, status }: Refused): void =>
        log.write({
          id: request === undefined ? "" : requestIdOf(request),
          method: request?.method ?? "",
          path: request === undefined ? "" : pathOf(request),
          status,
          outcome,
          address: (request === undefined ? undefined : addressOf(request)) ?? address,
          millis: 0,
          ticket: request === undefined ? undefined : ticketAt(pathOf(request)),
        })

      const admits = (request: IncomingMessage, response: ServerResponse): boolean => {
        const admission = admitPipelined(request, response)
        if (admission === "refuse") logRefusal({ request, status: 429, outcome: "too_many_pipelined" })
        return admission === "take"
      }

      return Arrivals.of({ log, requestIdOf, addressOf, pathOf, logRefusal, admits })
    }),
  )
