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

/**
 * `close` also closes the generations that are being replaced, so it is a parameter. What is given is passed on whole, so that a new parameter
 * cannot be forgotten here.
 */
export const delegateGatekeeper = (current: () => Generation, close: Effect.Effect<void>): Gatekeeper["Service"] => {
  const using = usingCurrent(current)
  return Gatekeeper.of({
    request: (body, caller) => using(({ gatekeeper }) => gatekeeper.request(body, caller)),
    availability: (...given) => using(({ gatekeeper }) => gatekeeper.availability(...given)),
    start: (...given) => using(({ gatekeeper }) => gatekeeper.start(...given)),
    relay: (...given) => using(({ gatekeeper }) => gatekeeper.relay(...given)),
    silence: (...given) => using(({ gatekeeper }) => gatekeeper.silence(...given)),
    leave: (...given) => using(({ gatekeeper }) => gatekeeper.leave(...given)),
    withdraw: (...given) => using(({ gatekeeper }) => gatekeeper.withdraw(...given)),
    status: (...given) => using(({ gatekeeper }) => gatekeeper.status(...given)),
    attach: (...given) => using(({ gatekeeper }) => gatekeeper.attach(...given)),
    isCalled: (...given) => using(({ gatekeeper }) => gatekeeper.isCalled(...given)),
    sessionEnded: (...given) => using(({ gatekeeper }) => gatekeeper.sessionEnded(...given)),
    endReported: (...given) => using(({ gatekeeper }) => gatekeeper.endReported(...given)),
    vendorWebhook: (...given) => using(({ gatekeeper }) => gatekeeper.vendorWebhook(...given)),
    traceOf: (...given) => using(({ gatekeeper }) => gatekeeper.traceOf(...given)),
    vendorWebhookRefusal: (...given) => using(({ gatekeeper }) => gatekeeper.vendorWebhookRefusal(...given)),
    platformStates: using(({ gatekeeper }) => gatekeeper.platformStates),
    capacityProblem: using(({ gatekeeper }) => gatekeeper.capacityProblem),
    queueProblem: using(({ gatekeeper }) => gatekeeper.queueProblem),
    internals: () => current().gatekeeper.internals(),
    close,
  })
}

export const delegateOperator = (current: () => Generation): Operator["Service"] => {
  const using = usingCurrent(current)
  return Operator.of({
    view: (...given) => using(({ operator }) => operator.view(...given)),
    act: (...given) => using(({ operator }) => operator.act(...given)),
    noteSettings: (...given) => using(({ operator }) => operator.noteSettings(...given)),
    auditLog: (...given) => using(({ operator }) => operator.auditLog(...given)),
    deliveries: (...given) => using(({ operator }) => operator.deliveries(...given)),
    redeliver: (...given) => using(({ operator }) => operator.redeliver(...given)),
    testEvent: (...given) => using(({ operator }) => operator.testEvent(...given)),
    forget: (...given) => using(({ operator }) => operator.forget(...given)),
    budgets: (...given) => using(({ operator }) => operator.budgets(...given)),
    adjustBudget: (...given) => using(({ operator }) => operator.adjustBudget(...given)),
    campaigns: using(({ operator }) => operator.campaigns),
    find: (...given) => using(({ operator }) => operator.find(...given)),
    history: (...given) => using(({ operator }) => operator.history(...given)),
    asking: using(({ operator }) => operator.asking),
    block: (...given) => using(({ operator }) => operator.block(...given)),
  })
}
