/**
 * The state of the platform, the IP provider and the other gates, for the operator's view. A check costs the platform or the IP provider
 * a request, so it runs only when a view is asked for and its last result is old. A view does not wait for it: it shows the last result.
 */

import { Effect, type Scope } from "effect"
import type { Internals } from "../gatekeeper/Internals.ts"
import type { PeersStatus } from "../gatekeeper/peers/Peers.ts"
import type { RemovedCampaign } from "../gatekeeper/peers/RemovedCampaigns.ts"
import type { KeysState } from "../identity-tokens/IdentityTokens.ts"
import { IpIntel } from "../ip-intel/IpIntel.ts"
import { ageOf } from "../lib/age.ts"
import type { Finding } from "../platform-api/model.ts"
import { isoTime } from "../protocol/session-answers.ts"
import { Store } from "../store/Store.ts"
import type { ListedInstance } from "./activity.ts"
import { type Health, PLATFORM_CHECK_MILLIS, SILENT_MILLIS } from "./shapes.ts"

/** The age at which the result of the IP provider is refreshed (ms). Each check uses one of the provider's lookups. */
const IP_CHECK_MILLIS = 5 * 60_000

/** A check: succeeds with what was found, fails with what is wrong. */
type Result = Pick<Health, "state" | "detail" | "facts">
type Check = Effect.Effect<Result, { readonly message: string }>

/** Joins findings to one result: the failed ones, else the others with what was not checked. */
const summaryOf = (findings: ReadonlyArray<Finding>): Result => {
  const factsOf = (state: Finding["state"], prefix = "") =>
    findings.flatMap(({ detail, subject, ...each }) =>
      each.state === state ? [{ subject: `${prefix}${subject}`, detail }] : [],
    )
  const failed = factsOf("failed")
  const facts = failed.length > 0 ? failed : [...factsOf("ok"), ...factsOf("not_checked", "not checked: ")]
  const detail = facts.map((fact) => `${fact.subject}: ${fact.detail}`).join(". ")
  return { state: failed.length > 0 ? "failed" : "ok", detail, facts }
}

/**
 * What is known of the public keys of `Identity.JwksUrl`; nothing without it. Each instance reads them itself.
 *
 * @param now the store's time (ms since 1970), as in `state`
 * @param ahead how far the time of day is ahead of it (ms)
 */
export const healthOfKeys = (state: KeysState | undefined, now: number, ahead = 0): ReadonlyArray<Health> => {
  if (state === undefined) return []
  const { keys, nextAt, problem, readAt, usedUntil } = state
  const name = "Identity keys"
  if (readAt === 0 && problem === "") {
    return [{ name, state: "checking", detail: "Waiting for the first read of Identity.JwksUrl.", at: 0 }]
  }
  const known = keys === 1 ? "1 key" : `${keys} keys`
  const facts = [
    ...(problem === "" ? [] : [{ subject: "error", detail: problem }]),
    {
      subject: "known",
      detail: problem === "" || keys === 0 ? known : `${known}, used until ${isoTime(usedUntil + ahead)}`,
    },
    { subject: "last read", detail: readAt === 0 ? "never" : isoTime(readAt + ahead) },
    { subject: "next read", detail: isoTime(Math.max(now, nextAt) + ahead) },
  ]
  if (problem === "") {
    const detail = facts.map((fact) => `${fact.subject}: ${fact.detail}`).join(". ")
    return [{ name, state: "ok", detail, facts, at: now }]
  }
  const tokens =
    keys === 0
      ? "No key is known, so callers with a token are refused"
      : `Until ${isoTime(usedUntil + ahead)} tokens are checked with what was read last, ${known}`
  return [
    {
      name,
      state: "failed",
      detail: `${problem}. ${tokens}. It is read again at ${isoTime(Math.max(now, nextAt) + ahead)}`,
      facts,
      at: now,
    },
  ]
}

/** Conflicts between the gates on this store, and removed campaigns that still have tickets. Both are known without a check. */
export const healthOfGates = (
  { at, gates, trouble }: PeersStatus,
  removed: ReadonlyArray<RemovedCampaign>,
): ReadonlyArray<Health> => {
  if (at === undefined)
    return [{ name: "Instances", state: "checking", detail: "Waiting for the first heartbeat.", at: 0 }]
  const agreement = gates === 1 ? "No other instance reports." : `${gates} instances with the same settings.`
  const instances: Health = {
    name: "Instances",
    state: trouble.length > 0 ? "failed" : "ok",
    detail: trouble.join(" ") || agreement,
    at,
  }
  if (removed.length === 0) return [instances]
  const names = removed.map(({ key, name, slots }) => `${name} (${key}, slots ${slots})`).join(", ")
  return [instances, { name: "Campaigns", state: "ok", detail: `Not in this instance's settings: ${names}.`, at }]
}

/**
 * Hosts with instances that have died: they are silent, and no instance has started in their place. One that was stopped is not listed any
 * more. One of an earlier release is not counted: it stays listed when it is stopped.
 *
 * @param since since when this instance has reached the store: shortly after that the others may not have reported yet
 * @param now the store's time (ms since 1970)
 * @param ahead how far the time of day is ahead of it (ms)
 */
export const healthOfSilent = (
  instances: ReadonlyArray<ListedInstance>,
  { since }: Pick<PeersStatus, "since">,
  now: number,
  ahead = 0,
): ReadonlyArray<Health> => {
  if (now - since < SILENT_MILLIS) return []
  const silent = instances
    .filter(({ leaves, seenAt }) => leaves === true && now - seenAt >= SILENT_MILLIS)
    .toSorted((a, b) => a.seenAt - b.seenAt)
  // each takes the place of the first that died before it started; it may have died itself since
  const started = instances.map(({ startedAt }) => startedAt).toSorted((a, b) => a - b)
  const dead = silent.filter(({ seenAt }) => {
    const successor = started.findIndex((each) => each > seenAt)
    if (successor !== -1) started.splice(successor, 1)
    return successor === -1
  })
  return [...Map.groupBy(dead, ({ host }) => host)].map(([host, those]): Health => {
    const names = those
      .map(({ id, seenAt }) => `${id} has sent no heartbeat since ${isoTime(seenAt + ahead)}`)
      .join(", ")
    const they = those.length === 1 ? "It" : "They"
    return {
      name: `Instance ${host}`,
      state: "failed",
      detail: `${names}. ${they} did not shut down in order.`,
      at: now,
    }
  })
}

export const makeHealth = ({
  campaigns: { all },
  verify,
}: Pick<Internals["Service"], "campaigns" | "verify">): Effect.Effect<
  Effect.Effect<ReadonlyArray<Health>>,
  never,
  IpIntel | Store | Scope.Scope
> =>
  Effect.gen(function* () {
    const intel = yield* IpIntel
    const store = yield* Store
    const scope = yield* Effect.scope

    /** Returns the last result of a check, and starts the check in the background if that is older than `maxAgeMillis`. */
    const refreshed = (name: string, maxAgeMillis: number, check: Check): Effect.Effect<Health> => {
      let last: Health = { name, state: "checking", detail: "Check in progress.", at: 0 }
      let running = false
      const refresh = Effect.gen(function* () {
        const result = yield* Effect.catch(check, ({ message }) =>
          Effect.succeed<Result>({ state: "failed", detail: message }),
        )
        last = { name, ...result, at: yield* store.now }
      }).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            running = false
          }),
        ),
      )
      return Effect.gen(function* () {
        const now = yield* store.now
        if (!running && (last.state === "checking" || ageOf(last.at, now) >= maxAgeMillis)) {
          running = true
          yield* Effect.forkIn(refresh, scope)
        }
        return last
      })
    }

    const provider = "IP provider"
    const ipHealth =
      intel.provider === "none"
        ? Effect.map(store.now, (at): Health => {
            return {
              name: provider,
              state: "off",
              detail: "No provider is configured, so addresses aren’t checked.",
              at,
            }
          })
        : refreshed(
            provider,
            IP_CHECK_MILLIS,
            Effect.as(intel.probe, { state: "ok" as const, detail: `${intel.provider} responds` }),
          )
    return Effect.all([
      ...all.map(({ name }) =>
        refreshed(
          all.length === 1 ? "Platform" : `Platform, ${name}`,
          PLATFORM_CHECK_MILLIS,
          Effect.map(verify(name), summaryOf),
        ),
      ),
      ipHealth,
    ])
  })
