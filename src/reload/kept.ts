/**
 * Services with a state that a reload must not lose, such as the platform's circuit breaker: kept while the settings that they read are
 * equal.
 */
import { type Context, Effect, Exit, Layer, Scope } from "effect"
import { textOfSettings } from "../settings/changes.ts"
import { Settings, type SettingsTree } from "../settings/Settings.ts"

/** A built service with the settings that it was built with. Several generations may use it, also while older ones finish. */
export interface Kept<I> {
  readonly context: Context.Context<I>
  readonly readSettings: string
  /** One more generation uses it. */
  readonly retain: () => void
  /** One generation no longer uses it. The last one closes it. */
  readonly release: Effect.Effect<void>
}

/** A closure that is made here must not see the service before, which it would keep in memory. */
const keep = <I>(context: Context.Context<I>, readSettings: string, close: Effect.Effect<void>): Kept<I> => {
  let users = 1
  return {
    context,
    readSettings,
    retain: () => void users++,
    release: Effect.suspend(() => {
      users--
      return users === 0 ? close : Effect.void
    }),
  }
}

/** Returns `before` if the settings in `read` are equal, and builds the service otherwise; the caller releases it. */
export const keepOrBuild = <I, E, R>(
  before: Kept<I> | undefined,
  layer: Layer.Layer<I, E, R | Settings>,
  settings: SettingsTree,
  read: (settings: SettingsTree) => object,
): Effect.Effect<Kept<I>, E, Exclude<R, Settings> | Scope.Scope> =>
  Effect.gen(function* () {
    const readSettings = textOfSettings(read(settings))
    if (before !== undefined && before.readSettings === readSettings) {
      before.retain()
      return before
    }
    const scope = yield* Scope.fork(yield* Effect.scope)
    const close = Scope.close(scope, Exit.void)
    const context = yield* Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope).pipe(
      Effect.provideService(Settings, settings),
      Effect.onError(() => close),
    )
    return keep(context, readSettings, close)
  })
