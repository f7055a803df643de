/**
 * Keeps this tab's ticket in session storage, so that it survives a reload, and that of a call that a reload ends, so that the page can
 * say so. A duplicated tab gets a copy of that storage, so a ticket is also locked by one tab; the duplicate starts without a place
 * instead of sharing it.
 */

const PREFIX = "voicegate.ticket."
/** The ticket of a call that a reload ended. */
const CALL_PREFIX = "voicegate.call."
/** How long to wait for the page before a reload to release the lock, in milliseconds. */
export const HANDOVER = 1_000
/** How long a busy browser may take to lock a new ticket, which no other tab can have, in milliseconds. */
export const FIRST_LOCK = 5_000

const write = (key: string, ticket: string | undefined): void => {
  try {
    if (ticket === undefined) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, ticket)
  } catch {
    // Storage is disabled: a reload loses the place.
  }
}

const read = (key: string): string | undefined => {
  try {
    return sessionStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

/** `gate` identifies the gate and the campaign. */
export const remember = (gate: string, ticket: string): void => write(PREFIX + gate, ticket)

/** Removes the ticket, unless another one was stored since. */
export const forget = (gate: string, ticket: string): void => {
  if (recall(gate) === ticket) write(PREFIX + gate, undefined)
}

export const recall = (gate: string): string | undefined => read(PREFIX + gate)

/** The same for a call that ended because this page went; undefined removes it. */
export const rememberCall = (gate: string, ticket: string | undefined): void => write(CALL_PREFIX + gate, ticket)

export const recallCall = (gate: string): string | undefined => read(CALL_PREFIX + gate)

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
