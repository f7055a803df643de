/**
 * How far the setup of a gate is. What was chosen is kept in the browser, for each account, so that a reload and another visit go on
 * there. Secrets are only in memory: after a reload, the page offers new ones.
 */
import { signal } from "@preact/signals"

export const STEPS = ["business", "campaign", "key", "settings", "check"] as const
export type Step = (typeof STEPS)[number]

export interface Progress {
  readonly businessId?: string
  readonly campaignId?: string
  readonly keyId?: string
  /** the gate's origin, such as `https://gate.example`; empty while it is unknown */
  readonly gate?: string
  readonly regionId?: string
  /** the origin of the website that shows the widget; empty for none */
  readonly site?: string
  /** whether the settings were taken over */
  readonly pasted?: boolean
}

const FIELDS = ["businessId", "campaignId", "keyId", "gate", "regionId", "site"] as const

const nameOf = (accountId: string): string => `voicegate-setup-${accountId}`

const read = (accountId: string): Progress => {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(nameOf(accountId)) ?? "{}")
    const fields = new Map<string, unknown>(typeof stored === "object" && stored !== null ? Object.entries(stored) : [])
    const texts = FIELDS.flatMap((name) => {
      const value = fields.get(name)
      return typeof value === "string" ? [[name, value] as const] : []
    })
    return { ...Object.fromEntries(texts), pasted: fields.get("pasted") === true }
  } catch {
    // no storage in this browser, or something else is stored there: the setup starts anew
    return {}
  }
}

/** The secrets that this page has just made, each with the id of what it belongs to. */
export interface Secrets {
  readonly key?: { readonly id: string; readonly value: string }
  readonly token?: { readonly id: string; readonly value: string }
}

const progress = signal<{ readonly accountId: string; readonly value: Progress }>()
const made = signal<{ readonly accountId: string; readonly value: Secrets }>()

export const progressOf = (accountId: string): Progress => {
  if (progress.value?.accountId !== accountId) progress.value = { accountId, value: read(accountId) }
  return progress.value.value
}

export const keepProgress = (accountId: string, value: Progress): void => {
  progress.value = { accountId, value }
  try {
    localStorage.setItem(nameOf(accountId), JSON.stringify(value))
  } catch {
    // it lasts as long as the page
  }
}

export const secretsOf = (accountId: string): Secrets => (made.value?.accountId === accountId ? made.value.value : {})

export const keepSecrets = (accountId: string, value: Secrets): void => {
  made.value = { accountId, value: { ...secretsOf(accountId), ...value } }
}
