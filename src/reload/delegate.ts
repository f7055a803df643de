/** The gatekeeper and the operator in force, as services that stay the same when they are replaced. Each call uses one generation. */
import { Effect } from "effect"
import { Gatekeeper } from "../gatekeeper/Gatekeeper.ts"
import { Operator } from "../operator/Operator.ts"
import type { Generation } from "./generation.ts"

/** Runs on the generation in force. */
const usingCurrent =
  (current: () => Generation) =>
  <A, E>(use: (generation: Generation) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      let used: Generation | undefined
      // hot path: plain calls; a use that has begun ends exactly once, also when it fails or is interrupted
      return Effect.onExitPrimitive(
        Effect.suspend(() => {
          used = current()
          used.beginUse()
          return use(used)
        }),
        () => {
          used?.endUse()
          return undefined
        },
      )
    })

/** `close` also closes the generations that are being replaced, so it is a parameter. */
export const delegateGatekeeper = (current: () => Generation, close: Effect.Effect<void>): Gatekeeper["Service"] => {
  const using = usingCurrent(current)
  return Gatekeeper.of({
    request: (body, caller) => using(({ gatekeeper }) => gatekeeper.request(body, caller)),
    start: (ticket) => using(({ gatekeeper }) => gatekeeper.start(ticket)),
    relay: (ticket, token, offer) => using(({ gatekeeper }) => gatekeeper.relay(ticket, token, offer)),
    silence: (ticket, silentMillis) => using(({ gatekeeper }) => gatekeeper.silence(ticket, silentMillis)),
    leave: (ticket) => using(({ gatekeeper }) => gatekeeper.leave(ticket)),
    withdraw: (ticket, caller) => using(({ gatekeeper }) => gatekeeper.withdraw(ticket, caller)),
    status: (ticket, hidden) => using(({ gatekeeper }) => gatekeeper.status(ticket, hidden)),
    attach: (ticket, hidden) => using(({ gatekeeper }) => gatekeeper.attach(ticket, hidden)),
    sessionEnded: (sessionIds) => using(({ gatekeeper }) => gatekeeper.sessionEnded(sessionIds)),
    vendorWebhook: (platform, webhook) => using(({ gatekeeper }) => gatekeeper.vendorWebhook(platform, webhook)),
    traceOf: (ticket) => using(({ gatekeeper }) => gatekeeper.traceOf(ticket)),
    vendorWebhookRefusal: (platform, headers) =>
      using(({ gatekeeper }) => gatekeeper.vendorWebhookRefusal(platform, headers)),
    platformStates: using(({ gatekeeper }) => gatekeeper.platformStates),
    capacityProblem: using(({ gatekeeper }) => gatekeeper.capacityProblem),
    queueProblem: using(({ gatekeeper }) => gatekeeper.queueProblem),
    get internals() {
      return current().gatekeeper.internals
    },
    close,
  })
}

export const delegateOperator = (current: () => Generation): Operator["Service"] => {
  const using = usingCurrent(current)
  return Operator.of({
    view: (campaign, pages, since) => using(({ operator }) => operator.view(campaign, pages, since)),
    act: (campaign, who, action) => using(({ operator }) => operator.act(campaign, who, action)),
    noteSettings: (who, changes) => using(({ operator }) => operator.noteSettings(who, changes)),
    auditLog: (campaign, first, count, only) =>
      using(({ operator }) => operator.auditLog(campaign, first, count, only)),
    deliveries: (campaign, filter, before, count) =>
      using(({ operator }) => operator.deliveries(campaign, filter, before, count)),
    redeliver: (campaign, who, of) => using(({ operator }) => operator.redeliver(campaign, who, of)),
    testEvent: (campaign, who) => using(({ operator }) => operator.testEvent(campaign, who)),
    forget: (who, request) => using(({ operator }) => operator.forget(who, request)),
    campaigns: using(({ operator }) => operator.campaigns),
    find: (hash, from) => using(({ operator }) => operator.find(hash, from)),
  })
}
