/** Checks the store as a gate uses it: connects, runs a rule, and sends itself a message. */
import { randomBytes } from "node:crypto"
import { Deferred, Effect, type Layer, Redacted, Result, Schedule } from "effect"
import { keysOf } from "../../fifo-queue/keys.ts"
import type { QueueContext } from "../../fifo-queue/rules/shared/step.ts"
import { rules } from "../../fifo-queue/rules.ts"
import { StoreUnavailable } from "../../protocol/refusals.ts"
import type { SettingsTree } from "../../settings/Settings.ts"
import { parseConnectionString } from "../../store/connection-string.ts"
import { Store } from "../../store/Store.ts"

/** How long the store may take to connect and answer. */
const STORE_MILLIS = 8_000
const MESSAGE_MILLIS = 2_000

/** The queue's context of a step that concerns no campaign. */
const NOBODY: QueueContext = {
  ...{ slots: 0, share: 1, maxLength: 0, instance: "", holder: 0, channel: "vg:check:" },
  ...{ windowMillis: 0, graceMillis: 0, seenMillis: 0, callMillis: 0 },
}

export interface StoreFinding {
  readonly name: "store"
  readonly status: "ok" | "failed"
  readonly message: string
}

const storeKind = ({ StoreConnectionString }: Pick<SettingsTree, "StoreConnectionString">): string => {
  const parsed = parseConnectionString(Redacted.value(StoreConnectionString))
  return Result.isFailure(parsed) ? "unknown" : parsed.success.connection.kind
}

const causeOf = ({ cause }: StoreUnavailable): string | undefined => (typeof cause === "string" ? cause : undefined)

/** Writes, runs a rule that changes nothing, and waits for a message of its own. */
const tryStore = (store: Store["Service"]): Effect.Effect<void, StoreUnavailable> =>
  Effect.scoped(
    Effect.gen(function* () {
      const channel = `vg:check:${randomBytes(6).toString("base64url")}`
      const heard = Deferred.makeUnsafe<void>()
      yield* store.subscribe(channel, () => Deferred.doneUnsafe(heard, Effect.void))
      yield* store.ping
      const ask = { keys: keysOf("check/check"), now: yield* store.now, context: NOBODY, call: { session: "" } }
      yield* store.run(rules.sessionState, ask)
      yield* store.publish(channel, "")
      yield* Effect.timeoutOrElse(Deferred.await(heard), {
        duration: MESSAGE_MILLIS,
        orElse: () =>
          Effect.fail(
            new StoreUnavailable({
              message: "No message arrived.",
              cause: "published messages do not arrive (SUBSCRIBE)",
            }),
          ),
      })
    }),
  )

/** Retries until the timeout. */
export const checkStore = (
  tree: Pick<SettingsTree, "StoreConnectionString">,
  store: Layer.Layer<Store, { readonly message: string }>,
): Effect.Effect<StoreFinding> => {
  const kind = storeKind(tree)
  if (kind === "memory") {
    return Effect.succeed({
      name: "store",
      status: "ok",
      message: "embedded: queue and limits exist in one process only and are lost when it ends",
    })
  }
  let cause: string | undefined
  const answers = Store.use((each) =>
    tryStore(each).pipe(
      Effect.tapError((error) =>
        Effect.sync(() => {
          cause = causeOf(error)
        }),
      ),
      Effect.retry(Schedule.spaced("50 millis")),
      Effect.andThen(each.problem ?? Effect.succeed("")),
    ),
  ).pipe(
    Effect.provide(store),
    Effect.timeoutOrElse({
      duration: STORE_MILLIS,
      orElse: () =>
        Effect.fail({
          message:
            cause === undefined
              ? `StoreConnectionString: Redis (${kind}) did not answer within ${STORE_MILLIS / 1000} s`
              : `StoreConnectionString: Redis (${kind}) could not be used within ${STORE_MILLIS / 1000} s: ${cause}`,
        }),
    }),
  )
  return Effect.match(answers, {
    onFailure: ({ message }) => ({ name: "store" as const, status: "failed" as const, message }),
    onSuccess: (problem) =>
      problem === ""
        ? {
            name: "store" as const,
            status: "ok" as const,
            message: `Redis (${kind}) answers, accepts password, user and database, runs a rule, and delivers messages`,
          }
        : { name: "store" as const, status: "failed" as const, message: `StoreConnectionString: ${problem}` },
  })
}
