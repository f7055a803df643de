/**
 * How what the gate stands on is doing, as an operator sees it. Checks cost the platform's and the IP provider's time,
 * so they run only while somebody looks, seldom, and never keep that somebody waiting: the last answer is given.
 */
import { Effect, type Scope } from "effect"
import type { Internals } from "../gatekeeper/internals.ts"
import { IpIntel } from "../IpIntel.ts"
import { type Finding, PlatformApi } from "../PlatformApi.ts"
import { Store } from "../Store.ts"
import type { Health } from "./shapes.ts"

/** How old an answer may be before it is asked again. */
const PLATFORM_CHECK_MILLIS = 30_000
/** Each probe takes one of the provider's lookups. */
const IP_CHECK_MILLIS = 5 * 60_000

/** Asked whenever somebody looks. */
type Look = Effect.Effect<ReadonlyArray<Health>>

/** The findings as one sentence: what failed, else what was found and what was not checked. */
const sumUp = (findings: ReadonlyArray<Finding>): Effect.Effect<string, { readonly message: string }> => {
  const says = (state: Finding["state"], prefix = "") =>
    findings.flatMap((each) => (each.state === state ? [`${prefix}${each.subject}: ${each.says}`] : []))
  const failed = says("failed")
  return failed.length > 0
    ? Effect.fail({ message: failed.join(". ") })
    : Effect.succeed([...says("ok"), ...says("not_checked", "not checked: ")].join(". "))
}

/** How the gates on this store get on, and what becomes of campaigns that are removed. Costs nothing: it is known already. */
export const healthOfGates = ({ removed, terms }: Pick<Internals, "removed" | "terms">): ReadonlyArray<Health> => {
  const { at, gates, trouble } = terms()
  if (at === undefined) return [{ name: "Instances", state: "checking", says: "Being looked for.", at: 0 }]
  const alike = gates === 1 ? "This is the only one." : `${gates} with the same settings.`
  const leaving = removed().map(({ key, name, slots }) => `${name} (${key}, slots ${slots})`)
  return [
    { name: "Instances", state: trouble.length > 0 ? "failed" : "ok", says: trouble.join(" ") || alike, at },
    ...(leaving.length === 0
      ? []
      : [{ name: "Campaigns", state: "ok" as const, says: `Not in the settings here: ${leaving.join(", ")}.`, at }]),
  ]
}

export const makeHealth = ({
  all,
}: Internals["campaigns"]): Effect.Effect<Look, never, IpIntel | PlatformApi | Store | Scope.Scope> =>
  Effect.gen(function* () {
    const intel = yield* IpIntel
    const platform = yield* PlatformApi
    const store = yield* Store
    const scope = yield* Effect.scope

    const watched = (
      name: string,
      everyMillis: number,
      check: Effect.Effect<string, { readonly message: string }>,
    ): Effect.Effect<Health> => {
      let last: Health = { name, state: "checking", says: "Being checked.", at: 0 }
      let running = false
      const refresh = Effect.gen(function* () {
        const { says, state } = yield* Effect.match(check, {
          onFailure: ({ message }) => ({ state: "failed" as const, says: message }),
          onSuccess: (found) => ({ state: "ok" as const, says: found }),
        })
        last = { name, state, says, at: yield* store.now }
      }).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            running = false
          }),
        ),
      )
      return Effect.gen(function* () {
        const now = yield* store.now
        if (!running && (last.state === "checking" || now - last.at >= everyMillis)) {
          running = true
          yield* Effect.forkIn(refresh, scope)
        }
        return last
      })
    }

    return Effect.all([
      ...all.map(({ name }) =>
        watched(
          all.length === 1 ? "Platform" : `Platform, ${name}`,
          PLATFORM_CHECK_MILLIS,
          Effect.flatMap(platform.verify(name), sumUp),
        ),
      ),
      watched(
        "IP provider",
        IP_CHECK_MILLIS,
        Effect.as(
          intel.probe,
          intel.provider === "none" ? "Addresses are not checked (none)." : `${intel.provider} answers`,
        ),
      ),
    ])
  })
