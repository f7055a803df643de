/**
 * Pings connections in turn, some with each step, because thousands of pings at once would keep everybody else waiting. Each connection
 * is pinged once in `PING_STEPS` steps, and must answer within `ANSWER_STEPS`.
 */

export const PING_STEPS = 88
export const ANSWER_STEPS = 32

/** A connection that is pinged. */
export interface Pinged {
  /** the step in which it is pinged, and its index among those of the step; set by `add` */
  pingStep: number
  pingIndex: number
  readonly ping: () => void
  /** Closes the connection if it has not answered. */
  readonly checkAnswer: () => void
}

export interface Pings {
  readonly add: (connection: Pinged) => void
  readonly remove: (connection: Pinged) => void
  /** Carries out the next step. */
  readonly step: () => void
}

export const makePings = (): Pings => {
  const steps = Array.from({ length: PING_STEPS }, (): Array<Pinged> => [])
  const of = (step: number): Array<Pinged> => steps[step % PING_STEPS] ?? []
  let added = 0
  let current = 0
  return {
    add: (connection) => {
      connection.pingStep = added++ % PING_STEPS
      connection.pingIndex = of(connection.pingStep).push(connection) - 1
    },
    remove: (connection) => {
      const all = of(connection.pingStep)
      const last = all.pop()
      if (last === undefined || last === connection) return
      all[connection.pingIndex] = last
      last.pingIndex = connection.pingIndex
    },
    step: () => {
      current = (current + 1) % PING_STEPS
      // copies, because those that are closed are removed meanwhile
      for (const connection of [...of(current)]) connection.ping()
      for (const connection of [...of(current + PING_STEPS - ANSWER_STEPS)]) connection.checkAnswer()
    },
  }
}
