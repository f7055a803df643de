/** Reloads the settings of the running process on SIGHUP, and those of the other processes after a reload through the console. */
import { Effect, Layer, type Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { Reload } from "../../operator/Reload.ts"
import * as PushChannel from "../../push-channel/layer.ts"
import * as ReloadLayer from "../../reload/layer.ts"
import type { SettingsInvalid } from "../../settings/problems.ts"
import type { LoadedSettings } from "../../settings/reading/resolve.ts"
import * as Store from "../../store/layer.ts"
import { askOthersToReload, onRequest } from "./reload-requests.ts"

/** Who changed the settings, in the log and in the audit log, when it was the signal. */
const SIGNAL = "SIGHUP"

const withOtherProcesses = Layer.effect(
  Reload,
  Effect.map(Reload, ({ close, reload }) => ({
    close,
    reload: (who) =>
      Effect.tap(reload(who), ({ _tag }) =>
        who === SIGNAL || _tag === "refused" ? Effect.void : Effect.sync(askOthersToReload),
      ),
  })),
)

/** A gate whose settings are read again with `load`. */
export const reloadableGate = (load: Effect.Effect<LoadedSettings, SettingsInvalid>) =>
  withOtherProcesses.pipe(
    Layer.provideMerge(ReloadLayer.layer(load)),
    Layer.provideMerge(PushChannel.layerShared),
    Layer.provideMerge(Store.layer),
    Layer.provide(FetchHttpClient.layer),
  )

/** Reloads the settings at each request, also while the gate stops, which the end of the scope begins: the reload is then refused. */
export const reloadOnSignal: Effect.Effect<void, never, Reload | Scope.Scope> = Effect.gen(function* () {
  const { close, reload } = yield* Reload
  yield* Effect.addFinalizer(() => close)
  const run = Effect.runForkWith(yield* Effect.context<never>())
  onRequest(() => void run(reload(SIGNAL)))
})
