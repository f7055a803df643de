/**
 * A gate whose settings can change while it runs. A reload builds a second gatekeeper with all that depends on settings, over the same
 * store and the same connections, and puts it in the place of the first, which then finishes what it has begun. To the store, and to
 * other gates, it remains the same instance.
 */
import { Context, Deferred, Effect, Layer, Scope, Semaphore } from "effect"
import type { HttpClient } from "effect/http"
import { Gatekeeper } from "../gatekeeper/Gatekeeper.ts"
import type { IpIntelSetupError } from "../ip-intel/facts.ts"
import { readsLists } from "../ip-intel/provider-kinds.ts"
import { makeProcessActivity } from "../operator/activity.ts"
import { Operator } from "../operator/Operator.ts"
import { Reload, type ReloadOutcome } from "../operator/Reload.ts"
import type { PushChannel } from "../push-channel/PushChannel.ts"
import { changesOf } from "../settings/changes.ts"
import { Reloadable } from "../settings/current.ts"
import type { SettingsInvalid } from "../settings/problems.ts"
import type { LoadedSettings } from "../settings/reading/resolve.ts"
import { Settings } from "../settings/Settings.ts"
import { Store } from "../store/Store.ts"
import { delegateGatekeeper, delegateOperator } from "./delegate.ts"
import { type Generation, makeGeneration } from "./generation.ts"

const refused = (...problems: ReadonlyArray<string>): ReloadOutcome => ({ _tag: "refused", problems })

/** Settings that identify a campaign in the store. */
const NAMES_CAMPAIGN = /\.(Account\.Name|BusinessId|WebCampaignId)$/

const logOutcome = (who: string, outcome: ReloadOutcome): Effect.Effect<void> => {
  if (outcome._tag === "refused") {
    return Effect.logError(`The settings were not changed (${who}). ${outcome.problems.join("\n")}`)
  }
  const { changed, kept } = outcome
  const change = changed.length === 0 ? "No setting has changed" : `Changed settings: ${changed.join(", ")}`
  const anew = changed.filter((setting) => NAMES_CAMPAIGN.test(setting))
  const warnings = [
    ...(kept.length === 0
      ? []
      : [`These settings cannot change while the gate runs and keep their values: ${kept.join(", ")}.`]),
    ...(anew.length === 0
      ? []
      : [
          `Campaigns begin anew in the store, because of ${anew.join(", ")}: who waited is sent away once no instance has the old ` +
            "settings, and calls that run there do not count toward the slots.",
        ]),
  ]
  return Effect.andThen(
    Effect.logInfo(`Settings were reloaded (${who}). ${change}.`),
    Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true }),
  )
}

/** @param load reads the settings again */
export const layer = (
  load: Effect.Effect<LoadedSettings, SettingsInvalid>,
): Layer.Layer<
  Gatekeeper | Operator | Reload,
  IpIntelSetupError,
  Settings | Store | PushChannel | HttpClient.HttpClient
> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const store = yield* Store
      const scope = yield* Effect.scope
      const shared = yield* Effect.context<Store | PushChannel | HttpClient.HttpClient>()
      const oneAtATime = Semaphore.makeUnsafe(1)
      const activity = yield* makeProcessActivity
      let current = yield* makeGeneration(yield* Settings, activity)
      /** those that are being replaced */
      const old = new Set<Generation>()
      let closing = false
      /** no reload begins any more, while callers are still served */
      let stopping = false

      const close = Effect.suspend(() => {
        closing = true
        return Effect.forEach([current, ...old], ({ gatekeeper }) => gatekeeper.close, {
          concurrency: "unbounded",
          discard: true,
        })
      })

      const replace = (next: Generation): Effect.Effect<void> =>
        Effect.suspend(() => {
          const before = current
          current = next
          old.add(before)
          const retired = Effect.ensuring(
            before.retire(next),
            Effect.sync(() => old.delete(before)),
          )
          // the gate may have been told to stop while `next` was built
          return Effect.andThen(Effect.forkIn(retired, scope), closing ? next.gatekeeper.close : Effect.void)
        })

      const apply = Effect.fnUntraced(function* (who: string) {
        if (closing || stopping) return refused("The gate is shutting down. The process that starts next reads them.")
        const { tree, warnings } = yield* load
        const { changes, kept, tree: applied } = changesOf(current.settings, tree)
        if (changes.length > 0 || readsLists(applied.IpIntel)) {
          yield* store.ping
          const next = yield* makeGeneration(applied, activity, current)
          yield* replace(next)
          yield* Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true })
          if (changes.length > 0) yield* next.operator.noteSettings(who, changes)
        }
        return { _tag: "applied", changed: changes.map(({ setting }) => setting), kept } satisfies ReloadOutcome
      })

      const reloadNow = (who: string): Effect.Effect<ReloadOutcome> =>
        apply(who).pipe(
          Effect.catchTag("StoreUnavailable", () =>
            Effect.succeed(refused("The store cannot be reached. Reload the settings again when it is back.")),
          ),
          Effect.catch(({ message }) => Effect.succeed(refused(message))),
          Effect.catchCause((cause) =>
            Effect.as(Effect.logError("The reload of the settings failed", cause), refused("See the log.")),
          ),
          Effect.tap((outcome) => logOutcome(who, outcome)),
          Effect.provide(shared),
          Effect.provideService(Scope.Scope, scope),
          Effect.uninterruptible,
        )

      /** the reload that has not begun, which further requests join */
      let next: { readonly who: Set<string>; readonly outcome: Deferred.Deferred<ReloadOutcome> } | undefined
      const reload = (who: string): Effect.Effect<ReloadOutcome> =>
        Effect.suspend(() => {
          if (next !== undefined) {
            next.who.add(who)
            return Deferred.await(next.outcome)
          }
          const own = { who: new Set([who]), outcome: Deferred.makeUnsafe<ReloadOutcome>() }
          next = own
          const run = Effect.suspend(() => {
            next = undefined
            return Effect.flatMap(reloadNow([...own.who].join(", ")), (outcome) =>
              Deferred.succeed(own.outcome, outcome),
            )
          }).pipe(oneAtATime.withPermits(1))
          // in the gate's scope, because others may wait for it when the first who asked has gone
          return Effect.andThen(Effect.forkIn(run, scope, { startImmediately: true }), Deferred.await(own.outcome))
        })

      return Context.make(
        Gatekeeper,
        delegateGatekeeper(() => current, close),
      ).pipe(
        Context.add(
          Operator,
          delegateOperator(() => current),
        ),
        Context.add(Reload, {
          reload,
          close: Effect.sync(() => {
            stopping = true
          }),
        }),
        Context.add(Reloadable, () => current.settings),
      )
    }),
  )
