/**
 * A generation: everything of a gate that is built from settings, and the requests that use it. Generations of one process share its
 * store and its connections.
 */
import { Context, Effect, Exit, Layer, Scope } from "effect"
import type { HttpClient } from "effect/http"
import * as Gate from "../embedded/as-configured.ts"
import type { FifoQueue } from "../fifo-queue/FifoQueue.ts"
import * as Queue from "../fifo-queue/layer.ts"
import type { QueueStep } from "../fifo-queue/QueueStep.ts"
import { MovedBefore } from "../gatekeeper/background/StoreOutage.ts"
import * as StartupChecks from "../gatekeeper/background/startup-checks.ts"
import { Gatekeeper } from "../gatekeeper/Gatekeeper.ts"
import { IpIntel } from "../ip-intel/IpIntel.ts"
import { readsLists } from "../ip-intel/provider-kinds.ts"
import { type ProcessActivity, SharedActivity } from "../operator/activity.ts"
import { Operator } from "../operator/Operator.ts"
import * as PlatformApiLayer from "../platform-api/layer.ts"
import type { PlatformApi } from "../platform-api/PlatformApi.ts"
import type { PushChannel } from "../push-channel/PushChannel.ts"
import { Settings, type SettingsTree } from "../settings/Settings.ts"
import type { Store } from "../store/Store.ts"
import { type Kept, keepOrBuild } from "./kept.ts"

/** What all generations of a process share. */
export type Shared = Store | PushChannel | HttpClient.HttpClient

/** How often a replaced generation is asked whether all that used it has finished, and for how long (ms). */
const ASK_MILLIS = 100
const FINISH_MILLIS = 120_000

export interface Generation {
  readonly settings: SettingsTree
  readonly gatekeeper: Gatekeeper["Service"]
  readonly operator: Operator["Service"]
  /** Each call is followed by one of `endUse`; until then this generation is not closed. */
  readonly beginUse: () => void
  readonly endUse: () => void
  /** Stops this generation, whose place `next` has taken, after all that uses it has finished. */
  readonly retire: (next: Generation) => Effect.Effect<void>
  readonly parts: Parts
}

interface Parts {
  readonly addresses: Kept<IpIntel>
  readonly platform: Kept<PlatformApi>
  readonly queue: Kept<FifoQueue | QueueStep>
}

const partsOf = (settings: SettingsTree, before: Parts | undefined) =>
  Effect.gen(function* () {
    const parts: Parts = {
      // lists are read again at every reload
      addresses: yield* keepOrBuild(
        readsLists(settings.IpIntel) ? undefined : before?.addresses,
        IpIntel.layer,
        settings,
        (tree) => tree.IpIntel,
      ),
      platform: yield* keepOrBuild(before?.platform, PlatformApiLayer.layer, settings, ({ Campaigns }) => ({
        Campaigns,
      })),
      queue: yield* keepOrBuild(before?.queue, Queue.layer, settings, (tree) => tree.Queue),
    }
    return parts
  })

const releaseParts = ({ addresses, platform, queue }: Parts): Effect.Effect<void> =>
  Effect.forEach([addresses, platform, queue], ({ release }) => release, { discard: true })

/** Only what a reload has built anew is checked again: each check is some requests to the platform or the provider. */
const checksOf = ({ addresses, platform }: Parts, before: Parts | undefined) =>
  Layer.merge(
    platform === before?.platform ? Layer.empty : StartupChecks.layerPlatform,
    addresses === before?.addresses ? Layer.empty : StartupChecks.layerAddresses,
  )

/** A closure that is made here must not see the generation before, which it would keep in memory. */
const generationOf = (
  settings: SettingsTree,
  parts: Parts,
  context: Context.Context<Gatekeeper | Operator>,
  close: Effect.Effect<void>,
): Generation => {
  const gatekeeper = Context.get(context, Gatekeeper)
  let users = 0

  return {
    settings,
    gatekeeper,
    operator: Context.get(context, Operator),
    parts,
    beginUse: () => {
      users++
    },
    endUse: () => {
      users--
    },
    retire: (next) =>
      Effect.gen(function* () {
        const { handover } = gatekeeper.internals()
        yield* handover.stopBackground(next.gatekeeper.internals())
        yield* Effect.sleep(ASK_MILLIS).pipe(
          Effect.repeat({ while: () => users > 0 || handover.pending() > 0 }),
          Effect.timeoutOption(FINISH_MILLIS),
        )
        yield* close
        yield* releaseParts(parts)
      }),
  }
}

/** Builds a generation; `before` is the one that it replaces. `activity` is that of the process. */
export const makeGeneration = (settings: SettingsTree, activity: ProcessActivity, before?: Generation) =>
  Effect.gen(function* () {
    const parts = yield* partsOf(settings, before?.parts)
    // after the parts, so that it closes before them
    const scope = yield* Scope.fork(yield* Effect.scope)
    const close = Scope.close(scope, Exit.void)
    const { addresses, platform, queue } = parts
    const moved = before?.gatekeeper.internals().handover.movedTickets() ?? []
    const context = yield* Layer.buildWithMemoMap(
      Layer.provide(checksOf(parts, before?.parts).pipe(Layer.provideMerge(Gate.layerOverQueue)), [
        Layer.succeed(Settings, settings),
        Layer.succeed(MovedBefore, moved),
        Layer.succeed(SharedActivity, activity),
      ]),
      Layer.makeMemoMapUnsafe(),
      scope,
    ).pipe(
      Effect.provide(Context.mergeAll(addresses.context, platform.context, queue.context)),
      Effect.onError(() => Effect.andThen(close, releaseParts(parts))),
    )
    return generationOf(settings, parts, context, close)
  })
