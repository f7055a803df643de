/**
 * Says what works and what does not, before callers find out: the settings, the store, the platform with its key and its
 * slots, the IP provider, the webhook's proof.
 */
import { Console, Effect, type FileSystem, Layer, Redacted, Result, type Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { IpIntel } from "../IpIntel.ts"
import * as PlatformApi from "../PlatformApi.ts"
import { type Campaign, Settings, type SettingsTree } from "../Settings.ts"
import { Store } from "../Store.ts"
import { parseConnectionString } from "../settings/connection-string.ts"
import { loadSettings, type SettingsSource } from "../settings/load.ts"
import * as StoreLayer from "../store/layer.ts"

/** How long the store may take to connect. */
const STORE_MILLIS = 5_000

interface Finding {
  readonly ok: boolean
  readonly what: string
  readonly says: string
}

const works = (what: string, says: string): Finding => ({ ok: true, what, says })
const fails = (what: string, says: string): Finding => ({ ok: false, what, says })

/** A check that fails says why; so does a layer that cannot be built. */
const found = <R>(
  what: string,
  check: Effect.Effect<string, { readonly message: string }, R>,
): Effect.Effect<Finding, never, R> =>
  Effect.match(check, { onFailure: (error) => fails(what, error.message), onSuccess: (says) => works(what, says) })

const storeKind = ({ StoreConnectionString }: SettingsTree): string => {
  const parsed = parseConnectionString(Redacted.value(StoreConnectionString))
  return Result.isFailure(parsed) ? "unknown" : parsed.success.connection.kind
}

const checkStore = (tree: SettingsTree): Effect.Effect<Finding, never, Store> =>
  storeKind(tree) === "memory"
    ? Effect.succeed(works("store", "embedded: queue and limits live in one process and end with it"))
    : found(
        "store",
        Store.use((store) =>
          store.ping.pipe(
            Effect.retry({ while: () => true }),
            Effect.as(`Redis (${storeKind(tree)}) answers`),
            Effect.timeoutOrElse({
              duration: STORE_MILLIS,
              orElse: () =>
                Effect.fail({
                  message: `StoreConnectionString: the store (${storeKind(tree)}) did not answer within ${STORE_MILLIS / 1000} s`,
                }),
            }),
          ),
        ),
      )

const checkCampaign = (campaign: Campaign): Effect.Effect<ReadonlyArray<Finding>, never, PlatformApi.PlatformApi> =>
  PlatformApi.PlatformApi.use((platform) =>
    Effect.all([
      found(`platform, campaign ${campaign.name}`, platform.verify(campaign.name)),
      campaign.MaxConcurrency === undefined
        ? found(
            `slots, campaign ${campaign.name}`,
            platform.concurrency(campaign.name).pipe(
              Effect.map(({ inUse, limit }) => `${limit} from the platform, ${inUse} in use`),
              Effect.mapError((error) => ({
                message: `${error.message.replace(/[.!]?$/, ".")} Set MaxConcurrency, or use a key with user management.`,
              })),
            ),
          )
        : Effect.succeed(works(`slots, campaign ${campaign.name}`, `${campaign.MaxConcurrency} (MaxConcurrency)`)),
    ]),
  )

const checkIp = ({ IpIntel: { Provider } }: SettingsTree): Effect.Effect<Finding, never, IpIntel> =>
  found(
    "addresses",
    IpIntel.use((intel) =>
      Effect.as(intel.probe, Provider === "none" ? "not checked (IpIntel.Provider is none)" : `${Provider} answers`),
    ),
  )

const webhookProof = ({ Security }: SettingsTree): Finding => {
  const proofs = [
    ...(Security.WebhookApiToken.length > 0 ? ["X-Api-Token"] : []),
    ...(Security.WebhookSigningSecret.length > 0 ? ["Standard Webhooks signature"] : []),
  ]
  return works(
    "webhook",
    proofs.length === 0 ? "unproven: taken from this machine only" : `proved by ${proofs.join(" or ")}`,
  )
}

const show = ({ ok, says, what }: Finding): Effect.Effect<void> =>
  Console.log(`${ok ? "ok  " : "FAIL"}  ${what}: ${says}`)

/** Checks everything that can be checked, and answers whether all of it works. */
export const check = (source: SettingsSource): Effect.Effect<boolean, never, FileSystem.FileSystem | Scope.Scope> =>
  Effect.gen(function* () {
    const loaded = yield* Effect.result(loadSettings(source))
    if (Result.isFailure(loaded)) {
      yield* Console.log(loaded.failure.message)
      return false
    }
    const { tree, warnings } = loaded.success
    yield* show(works("settings", `${tree.Campaigns.length} campaign(s)`))
    yield* Effect.forEach(warnings, (warning) => Console.log(`note  ${warning}`), { discard: true })

    const settings = Layer.succeed(Settings, tree)
    const store = Layer.succeedContext(yield* Layer.build(StoreLayer.layer.pipe(Layer.provide(settings))))
    const checks: ReadonlyArray<Effect.Effect<ReadonlyArray<Finding>>> = [
      Effect.map(Effect.provide(checkStore(tree), store), (finding) => [finding]),
      Effect.provide(
        Effect.map(Effect.forEach(tree.Campaigns, checkCampaign), (findings) => findings.flat()),
        PlatformApi.layer.pipe(Layer.provide([settings, FetchHttpClient.layer])),
      ),
      Effect.map(
        Effect.catch(
          Effect.provide(checkIp(tree), IpIntel.layer.pipe(Layer.provide([settings, store, FetchHttpClient.layer]))),
          (error) => Effect.succeed(fails("addresses", error.message)),
        ),
        (finding) => [finding],
      ),
      Effect.succeed([webhookProof(tree)]),
    ]
    const findings = (yield* Effect.all(checks, { concurrency: "unbounded" })).flat()
    yield* Effect.forEach(findings, show, { discard: true })
    return findings.every(({ ok }) => ok)
  })
