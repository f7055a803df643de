/** An IP-intelligence provider in memory, for tests. */
import { Context, Effect, Layer } from "effect"
import { type IpFacts, IpIntelFailed, noFacts } from "../ip-intel/facts.ts"
import { IpIntel } from "../ip-intel/IpIntel.ts"

export class FakeIpIntel extends Context.Service<
  FakeIpIntel,
  {
    /** From now on lookups of this address yield these facts; the ones left out are false. */
    readonly know: (address: string, facts: Partial<IpFacts>) => Effect.Effect<void>
    /** While true, every lookup fails as if the provider could not be reached; `IpIntel.OnError` then decides. */
    readonly setDown: (isDown: boolean) => Effect.Effect<void>
    /** The addresses that were looked up, oldest first. */
    readonly lookups: Effect.Effect<ReadonlyArray<string>>
  }
>()("voicegate/testing/FakeIpIntel") {}

const down = new IpIntelFailed({ provider: "fake", reason: "unreachable", message: "The fake provider is down." })

/** The provider as the gate sees it, and as the test controls it. It knows nothing bad about any address at first. */
export const layer: Layer.Layer<IpIntel | FakeIpIntel> = Layer.effectContext(
  Effect.sync(() => {
    const known = new Map<string, IpFacts>()
    const lookups: Array<string> = []
    let isDown = false
    const provider = IpIntel.of({
      provider: "fake",
      lookup: (address) =>
        Effect.suspend(() => {
          lookups.push(address)
          return isDown ? Effect.fail(down) : Effect.succeed(known.get(address) ?? noFacts)
        }),
      probe: Effect.suspend(() => (isDown ? Effect.fail(down) : Effect.void)),
    })
    const control = FakeIpIntel.of({
      know: (address, facts) => Effect.sync(() => void known.set(address, { ...noFacts, ...facts })),
      setDown: (to) =>
        Effect.sync(() => {
          isDown = to
        }),
      lookups: Effect.sync(() => [...lookups]),
    })
    return Context.make(IpIntel, provider).pipe(Context.add(FakeIpIntel, control))
  }),
)
