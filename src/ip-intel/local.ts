/** An `IpIntel` directly over a provider, without caches and budgets: for one that answers from this process, or caches itself. */
import { Effect } from "effect"
import { parseAddress } from "../lib/ip/address.ts"
import { failing, noFacts, type Provider } from "./facts.ts"

/** The address of a public DNS resolver, which every provider knows. */
export const PROBE_ADDRESS = "1.1.1.1"

const nothing = Effect.succeed(noFacts)

/** Skips addresses that are not public, which no provider knows. */
export const forPublic = ({ name, lookup }: Provider): Provider["lookup"] => {
  const fail = failing(name)
  return (text) => {
    const address = parseAddress(text)
    if (address === undefined) return fail("rejected", "got an invalid address")
    return address.isPublic ? lookup(address.lookupText) : nothing
  }
}

export const local = (provider: Provider) => ({
  provider: provider.name,
  lookup: forPublic(provider),
  probe: Effect.suspend(() => Effect.asVoid(provider.lookup(PROBE_ADDRESS))),
})
