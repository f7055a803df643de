/**
 * Counts the uses of each key in windows of a fixed length, in this process's memory. A key's window begins with its first use. One that
 * lies in the future, after the clock was set back, is over.
 */
import { isOpen } from "./age.ts"
import { boundedCache } from "./bounded-cache.ts"

export interface Windows {
  /** 0 if no window is open. */
  readonly used: (key: string, now: number) => number
  /** When the key's open window ends (ms); when one that begins now would end, if none is open. */
  readonly endsAt: (key: string, now: number) => number
  /** Counts one use; returns the uses with it. */
  readonly add: (key: string, now: number) => number
  /** Takes back one use in the open window. */
  readonly giveBack: (key: string, now: number) => void
  /** Frees the memory of windows that are over. */
  readonly dropEnded: (now: number) => void
}

interface Window {
  used: number
  endsAt: number
}

/**
 * @param millis the length of a window
 * @param maxKeys how many keys are counted at once: beyond it, the least recently used one is forgotten, so that a flood of new keys
 * takes no more memory
 */
export const makeWindows = (millis: number, maxKeys: number): Windows => {
  const windows = boundedCache<Window>(maxKeys)
  const openOf = (key: string, now: number): Window | undefined => {
    const window = windows.get(key)
    return window !== undefined && isOpen(window.endsAt, millis, now) ? window : undefined
  }
  return {
    used: (key, now) => openOf(key, now)?.used ?? 0,
    endsAt: (key, now) => openOf(key, now)?.endsAt ?? now + millis,
    add: (key, now) => {
      const open = openOf(key, now)
      if (open !== undefined) return ++open.used
      windows.set(key, { used: 1, endsAt: now + millis })
      return 1
    },
    giveBack: (key, now) => {
      const open = openOf(key, now)
      if (open !== undefined && open.used > 0) open.used--
    },
    dropEnded: (now) => {
      for (const [key, { endsAt }] of [...windows.entries()]) if (!isOpen(endsAt, millis, now)) windows.delete(key)
    },
  }
}
