/** What is stored with a ticket until it starts, and the names under which the platform lists its session. */

import { createHash } from "node:crypto"
import { DEFAULT_PLATFORM } from "../../platform-api/vendors.ts"
import type { SessionConfig } from "../../protocol/request.ts"
import type { Campaign } from "../../settings/Settings.ts"

/** The data stored with a ticket until it starts; `from` is its caller's group, absent in tickets of older versions. */
export interface StoredConfig extends SessionConfig {
  readonly from?: string
  /** the caller, as the rate limiter knows him; only of a campaign with budgets */
  readonly caller?: string
  /** how long the caller's identity token lets the call last (s); absent without such a limit */
  readonly callSeconds?: number
  /** of a start that awaits its page's offer: how long the call may last by what budgets hold (s), where they have no more */
  readonly paidSeconds?: number
}

const NONE: Readonly<Record<string, string>> = {}

const unlessEmpty = (variables: Readonly<Record<string, string>>): Readonly<Record<string, string>> | undefined => {
  for (const _ in variables) return variables
  return undefined
}

/** The text that is stored. Most callers send no variables and no metadata, and a million may wait: empty ones are left out. */
export const dataOfConfig = (config: StoredConfig): string =>
  JSON.stringify({
    ...config,
    dynamicVariables: unlessEmpty(config.dynamicVariables),
    metadata: unlessEmpty(config.metadata),
  })

/** Reads the text of `dataOfConfig`. Undefined if it is not what a gate has written. */
export const storedConfigOf = (data: string): StoredConfig | undefined => {
  try {
    const stored: StoredConfig | null = JSON.parse(data)
    return typeof stored === "object" && stored !== null
      ? { ...stored, dynamicVariables: stored.dynamicVariables ?? NONE, metadata: stored.metadata ?? NONE }
      : undefined
  } catch {
    return undefined
  }
}

/**
 * The client identifier sent to the platform: the caller's own, or one derived from the ticket, so that the session can be found in
 * the platform's history. Only a hash of the ticket's id is sent, because the id is a credential.
 */
export const identifierOf = (ticket: string, config: Pick<SessionConfig, "clientIdentifier">): string =>
  config.clientIdentifier ?? `anonymous-${createHash("sha256").update(ticket).digest("hex").slice(0, 20)}`

/** What vendors keep with a session, so that the start of a ticket can be found in their lists. Only a hash of the ticket's id is sent. */
export const correlationOf = (ticket: string): string =>
  createHash("sha256").update(`voicegate ${ticket}`).digest("base64url").slice(0, 22)

/** A vendor stores the gate's own id with a session; the default platform only the client identifier. */
export const isVendors = ({ Platform }: Pick<Campaign, "Platform">): boolean => Platform !== DEFAULT_PLATFORM

/**
 * The name under which the platform lists the sessions of this ticket and of no other; undefined where other callers may have the same
 * one.
 */
export const ownNameOf = (campaign: Pick<Campaign, "Platform">, ticket: string, data: string): string | undefined => {
  if (isVendors(campaign)) return correlationOf(ticket)
  const config = storedConfigOf(data)
  return config === undefined || config.clientIdentifier !== undefined ? undefined : identifierOf(ticket, config)
}
