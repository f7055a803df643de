/** Counts the open connections (or other resources) of each caller, up to a limit. A caller without any takes no memory. */
export interface ConnectionCounter {
  /** Counts one more; false, and nothing counted, when the caller is at the limit. */
  readonly acquire: (caller: string) => boolean
  readonly release: (caller: string) => void
}

export const makeConnectionCounter = (max: number): ConnectionCounter => {
  const counts = new Map<string, number>()
  return {
    acquire: (caller) => {
      const held = counts.get(caller) ?? 0
      if (held < max) counts.set(caller, held + 1)
      return held < max
    },
    release: (caller) => {
      const left = (counts.get(caller) ?? 1) - 1
      if (left === 0) counts.delete(caller)
      else counts.set(caller, left)
    },
  }
}
