/** Dispatches upgrades to the push channel of a ticket or to the hub, and refuses others. */
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { Effect } from "effect"
import type { HostCheck } from "../../serving/hosts.ts"
import { repeatedHeader } from "../../serving/repeated-headers.ts"
import { type Answer, refusals } from "../answers/answer.ts"
import { makeRunAnswer } from "../answers/run-answer.ts"
import { refuseUpgrade } from "../answers/write-answer.ts"
import type { Arrivals } from "../incoming/Arrivals.ts"
import type { OriginCheck } from "../incoming/origin.ts"
import { HUB_PATH, isOwnUpgrade, ticketOfEvents } from "../incoming/paths.ts"
import { inEventsSpan, inServerSpan, type ReadTrace } from "../incoming/spans.ts"
import type { Push } from "../push/Push.ts"
import { existsBy, type TicketLimits } from "../requests/ticket-limits.ts"
import type { Hub } from "../signalr/Hub.ts"

/** Answers an upgrade if it is for the gate, and returns whether it was; otherwise does not touch the socket. */
export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean

export interface UpgradeOptions {
  /** where a host has mounted the gate, such as `/voice`; else empty */
  readonly basePath: string
  readonly arrivals: Arrivals["Service"]
  readonly limits: TicketLimits["Service"]
  readonly push: Push["Service"]
  readonly hub: Hub["Service"]
  readonly judgeOrigin: OriginCheck
  readonly isOwnHost: HostCheck
  readonly readTrace: ReadTrace
}

/** Without a closure, which would keep the upgrade's request in memory as long as its connection. */
function destroyThis(this: Duplex): void {
  this.destroy()
}

export const makeUpgrade = ({
  arrivals: { addressOf, log, logRefusal, pathOf, requestIdOf },
  basePath,
  hub,
  isOwnHost,
  judgeOrigin,
  limits,
  push,
  readTrace,
}: UpgradeOptions): Effect.Effect<Upgrade> =>
  Effect.map(
    makeRunAnswer,
    (answer): Upgrade =>
      (request, socket, head) => {
        if (!isOwnUpgrade(basePath, request)) return false
        const trace = readTrace(request)
        const path = pathOf(request)
        const address = addressOf(request) ?? ""
        const ticket = ticketOfEvents(path)
        const refuse = (refusal: Answer): void => {
          refuseUpgrade(socket, refusal)
          logRefusal({ request, status: refusal.status, outcome: refusal.outcome })
        }
        const verdict = judgeOrigin(request.headers.origin, request.headers.host)
        const repeated = repeatedHeader(request.rawHeaders)
        if (repeated !== undefined) {
          refuse(refusals.repeatedHeader[repeated])
        } else if (!isOwnHost(request.headers.host)) {
          refuse(refusals.host)
        } else if (ticket === undefined && path !== HUB_PATH) {
          refuse(refusals.upgradeRequired)
        } else if (verdict === "foreign") {
          refuse(refusals.origin)
        } else {
          socket.on("error", destroyThis)
          const refusal = ticket === undefined ? limits.hubConnection(address) : limits.use(ticket, "events", address)
          if (refusal !== undefined) {
            refuse(refusal)
            return true
          }
          const upgraded =
            ticket === undefined
              ? inServerSpan("GET", HUB_PATH, trace)(hub.upgrade(request, socket, head, address, verdict !== "anyone"))
              : inEventsSpan(trace, ticket)(push.upgrade(request, socket, head, ticket, address))
          answer(upgraded, requestIdOf(request), (result) => {
            if (ticket !== undefined) limits.answered(ticket, address, existsBy(result))
            if (result !== undefined) return refuse(result)
            const id = requestIdOf(request)
            log.write({ id, method: "GET", path, status: 101, outcome: "upgraded", address, millis: 0, ticket })
          })
        }
        return true
      },
  )
