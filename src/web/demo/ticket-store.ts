/**
 * Remembers this tab's ticket over a reload, and nothing else. A duplicated tab gets a copy of the memory, so a ticket also
 * has a lock that only one tab holds: the copy begins anew instead of sharing the place.
 */
import type { SourceKind } from "./audio.ts"
import { parse, text } from "./json.ts"

export interface Remembered {
  readonly id: string
  readonly source: SourceKind
}

const KEY = "voicegate.ticket"
/** How long the page before a reload may take to let go of the lock, in milliseconds. */
const HANDOVER = 1_000

export const remember = (ticket: Remembered): void => {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(ticket))
  } catch {
    // Storage is off: a reload then begins anew.
  }
}

export const forget = (): void => {
  try {
    sessionStorage.removeItem(KEY)
  } catch {
    // as above
  }
}

export const recall = (): Remembered | undefined => {
  try {
    const stored = parse(sessionStorage.getItem(KEY) ?? "")
    const id = text(stored.id)
    return id === undefined ? undefined : { id, source: stored.source === "tone" ? "tone" : "microphone" }
  } catch {
    return undefined
  }
}

/** Makes the ticket this tab's own until `signal` aborts or the tab is gone; false when another tab has it. */
export const claim = async (id: string, signal: AbortSignal): Promise<boolean> => {
  if (!("locks" in navigator)) return true
  return new Promise((resolve) => {
    const held = (): Promise<void> => {
      resolve(true)
      return new Promise((release) => signal.addEventListener("abort", () => release(), { once: true }))
    }
    navigator.locks.request(`${KEY}.${id}`, { signal: AbortSignal.timeout(HANDOVER) }, held).catch(() => resolve(false))
  })
}
