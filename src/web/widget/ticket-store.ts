/**
 * Remembers this tab's ticket at one gate over a reload, and nothing else. A duplicated tab gets a copy of the memory, so a
 * ticket also has a lock that only one tab holds: the copy begins anew instead of sharing the place.
 */

const PREFIX = "voicegate.ticket."
/** How long the page before a reload may take to let go of the lock, in milliseconds. */
const HANDOVER = 1_000

/** `gate` names the gate and the campaign. */
export const remember = (gate: string, ticket: string): void => {
  try {
    sessionStorage.setItem(PREFIX + gate, ticket)
  } catch {
    // Storage is off: a reload then begins anew.
  }
}

/** Forgets the ticket, unless another one was remembered since. */
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

/** Makes the ticket this tab's own until `signal` aborts or the tab is gone; false when another tab has it. */
export const claim = async (ticket: string, signal: AbortSignal): Promise<boolean> => {
  if (!("locks" in navigator)) return true
  return new Promise((resolve) => {
    const held = (): Promise<void> => {
      resolve(true)
      return new Promise((release) => signal.addEventListener("abort", () => release(), { once: true }))
    }
    navigator.locks
      .request(PREFIX + ticket, { signal: AbortSignal.timeout(HANDOVER) }, held)
      .catch(() => resolve(false))
  })
}
