/** What an operator does about what the headline says: a sentence for each cause. Commands stand between backticks. */
import type { Health } from "../../operator/shapes.ts"
import { isBroken, levelOf, type Served, type Terms } from "./campaign-state.ts"

export const WITHOUT_GATE =
  "Check that a gate runs, and that this computer reaches it. Calls that run go on without the gate; nobody new is called until it is back."

/** The page is of another version than the gate that answered. */
export const OUTDATED = "Reload the page."

export const WITHOUT_STORE =
  "Start Redis, or make it reachable again: `voicegate check` says why it fails. Calls that run go on."

const forPlatform = ({ disrupted, platform }: Pick<Served, "disrupted" | "platform">): string => {
  switch (platform?.state ?? (disrupted ? "unavailable" : undefined)) {
    case "unavailable":
      return "Look at the platform’s status page, and wait. When the platform responds, callers are called without you."
    case "rejected":
      return platform === undefined || platform.setting === ""
        ? "Check the account at the platform: its key, its credit, and what the campaign names there."
        : `Correct ${platform.setting}, and reload the settings.`
    case "webhooks_missing":
      return "Check the webhook’s address and secret at the platform."
    case "at_capacity":
      return "Compare `MaxConcurrency` with the limit of the account at the platform."
    case "rate_limited":
      return "If it lasts, ask the platform for more requests."
    default:
      return ""
  }
}

/** @param budget undefined where the gate has not named it */
const forBudget = (campaign: string, budget: string | undefined): string =>
  budget === undefined
    ? `See which budget it is with \`voicegate budget show ${campaign}\`. Add to it, or wait until it resets.`
    : `Add to the budget, or wait until it resets: \`voicegate budget adjust ${campaign} ${budget} --add 50 --reason "why"\`.`

/** About the state of a campaign; empty where nothing is to be done, or the buttons beside it do it. */
export const adviceFor = (campaign: string, served: Served, now: number, terms: Terms): string => {
  if (levelOf(served, now, terms) === "good") return ""
  const { budgets, draining, paused, resumesAt } = served
  const { hours, usedUp } = terms
  const isClosed = hours !== undefined && hours.state !== "open"
  const isUsedUp = !isClosed && (usedUp !== undefined || resumesAt !== undefined)
  const budget = isUsedUp ? forBudget(campaign, usedUp?.budget ?? budgets?.[0]) : ""
  // a full platform matters to nobody while no one is called
  const platform = isBroken(served) || !(isClosed || isUsedUp || paused || draining) ? forPlatform(served) : ""
  return [platform, budget].filter((text) => text !== "").join(" ")
}

/** The beginning of a check's name, and what to do when the check fails. The first that fits counts. */
const CHECKS: ReadonlyArray<readonly [string, string]> = [
  // it says by itself what to set
  ["Store memory", ""],
  ["Store, ", "Give the gate’s user of Redis the permissions that it needs: `voicegate check` names them."],
  ["Store", "Look at the load of Redis, and at the network between it and the gate."],
  [
    "Platform",
    "If the vendor is down, look at its status page, and wait: callers are called when it responds. Otherwise correct what the check names, and reload the settings.",
  ],
  ["IP provider", "Check the provider’s key and quota."],
  ["Identity keys", "Check the server that `Identity.JwksUrl` names."],
  [
    "Instance ",
    "Look at that host: is the process alive, and what does its log end with? Start it again. Its callers connect to another instance by themselves, and nobody loses a place.",
  ],
  ["Instances", "Give all instances the same settings and the same database, and reload them."],
]

/** About a check that fails. */
export const adviceForCheck = ({ name }: Pick<Health, "name">): string =>
  CHECKS.find(([start]) => name.startsWith(start))?.[1] ?? ""
