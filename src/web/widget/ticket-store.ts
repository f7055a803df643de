/**
 * Keeps this tab's ticket in session storage, so that it survives a reload. A duplicated tab gets a copy of that storage, so a ticket
 * is also locked by one tab; the duplicate starts without a place instead of sharing it.
 */

const PREFIX = "voicegate.ticket."
/** How long to wait for the page before a reload to release the lock, in milliseconds. */
export const HANDOVER = 1_000
/** How long a busy browser may take to lock a new ticket, which no other tab can have, in milliseconds. */
export const FIRST_LOCK = 5_000

/** `gate` identifies the gate and the campaign. */
export const remember = (gate: string, ticket: string): void => {
  try {
    sessionStorage.setItem(PREFIX + gate, ticket)
  } catch {
    // Storage is disabled: a reload loses the place.
  }
}

/** Removes the ticket, unless another one was stored since. */
export const forget = (gate: string, ticket: string): void => {
  try {
    if (recall(gate) === ticket) sessionStorage.removeItem(PREFIX + gate)
  } catch {
    // as above
  }
}

export const recall = (gate: string): string | undefined => {
  try {
    return sessionStorage.getItem(PREFIX + gate) ?? undefined
  } catch {
    return undefined
  }
}

/** Locks the ticket for this tab until `signal` aborts or the tab closes; false if it was not locked within `millis`. */
export const claim = async (ticket: string, signal: AbortSignal, millis: number): Promise<boolean> => {
  if (!("locks" in navigator)) return true
  return new Promise((resolve) => {
    const held = (): Promise<void> => {
      resolve(true)
      return new Promise((release) => signal.addEventListener("abort", () => release(), { once: true }))
    }
    navigator.locks.request(PREFIX + ticket, { signal: AbortSignal.timeout(millis) }, held).catch(() => resolve(false))
  })
}
