/** Verifies tokens as `Identity` of the settings says. `jose` is loaded only where there are keys. */
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { Settings } from "../settings/Settings.ts"
import { Store } from "../store/Store.ts"
import { IdentityTokens } from "./IdentityTokens.ts"
import { singleUse } from "./single-use.ts"

/** Keys of Secrets and of JwksUrl; without any, no token is read. */
export const layer: Layer.Layer<IdentityTokens, never, Settings | Store> = Layer.effect(
  IdentityTokens,
  Effect.gen(function* () {
    const { Identity } = yield* Settings
    const store = yield* Store
    const uses = singleUse(store)
    if (Identity.Secrets.length === 0 && Identity.JwksUrl === undefined) {
      return { ...uses, verify: undefined, keys: undefined }
    }
    const [jose, { makeJwks }, { verifierOf }] = yield* Effect.promise(() =>
      Promise.all([import("jose"), import("./jwks.ts"), import("./verify.ts")]),
    )
    const jwks =
      Identity.JwksUrl === undefined
        ? undefined
        : yield* makeJwks(jose, yield* HttpClient.HttpClient, store, {
            url: Identity.JwksUrl,
            staleMillis: Identity.JwksStaleHours * 3_600_000,
          })
    const secrets = Identity.Secrets.map((secret) => new TextEncoder().encode(Redacted.value(secret)))
    return {
      ...uses,
      verify: yield* verifierOf(jose, store, { ...Identity, secrets, jwks }),
      keys: jwks?.state,
    }
  }),
).pipe(Layer.provide(FetchHttpClient.layer))
