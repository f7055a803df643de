/** A host's own source of facts about addresses, as a plain object. */
import { Effect, Layer, Record } from "effect"
import { failing, IpFacts, ipFacts } from "../../ip-intel/facts.ts"
import { IpIntel } from "../../ip-intel/IpIntel.ts"
import { local } from "../../ip-intel/local.ts"
import { unknownFields } from "../../lib/unknown-field.ts"
import { checkMembers } from "./check.ts"

/** Facts about callers' addresses. Each new request asks; the host caches as it needs. */
export interface OwnIpIntel {
  /** shown in logs and in the console; `the host` by default */
  readonly name?: string
  /**
   * What is known about a public address. A fact that is absent or null is unknown, which is not a clean fact. When it rejects, or takes
   * too long, `IpIntel.OnError` decides.
   */
  readonly lookup: (address: string) => Promise<{ readonly [K in keyof IpFacts]?: boolean | null | undefined }>
}

export const ownIpIntel = (own: OwnIpIntel): Layer.Layer<IpIntel> => {
  checkMembers("options.ipIntel", own, { required: { lookup: "function" }, optional: { name: "string" } })
  const name = own.name ?? "the host"
  const fail = failing(name)
  return Layer.succeed(
    IpIntel,
    IpIntel.of(
      local({
        name,
        lookup: (address) =>
          Effect.tryPromise(async () => await own.lookup(address)).pipe(
            Effect.tapError((error) => Effect.logWarning(`The lookup of ${name} failed.`, error.cause)),
            Effect.catch(() => fail("unreachable", "failed to look up an address")),
            Effect.flatMap((answer) => {
              const facts = Record.map(IpFacts.fields, (_, fact) => answer[fact])
              const [unknown] = unknownFields(answer, Object.keys(IpFacts.fields))
              if (unknown !== undefined) return fail("malformed", `answered ${unknown.field}. ${unknown.message}`)
              const isFact = (value: unknown): boolean => value == null || typeof value === "boolean"
              return Object.values(facts).every(isFact)
                ? Effect.succeed(ipFacts(facts))
                : fail("malformed", "answered a fact that is not true, false or null")
            }),
          ),
      }),
    ),
  )
}
