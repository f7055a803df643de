/** Requests to several gates, distributed as a load balancer does that looks at their readiness. */
import { setTimeout as sleep } from "node:timers/promises"
import type { Gate } from "../../harness/gate.ts"
import { eventually } from "../../harness/process.ts"

/** How often the balancer looks at each gate (ms). Real ones look about once a second. */
const PROBE_MILLIS = 250

export interface Balancer {
  /** Takes a gate in, once it is ready. */
  readonly add: (gate: Gate) => Promise<void>
  /** a gate that was ready when it was last asked; in turns */
  readonly pick: () => Gate
  readonly dispose: () => Promise<void>
}

const isReady = (gate: Gate): Promise<boolean> =>
  gate.ask("GET", "/health/ready").then(
    ({ status }) => status === 200,
    () => false,
  )

export const startBalancer = async (gates: ReadonlyArray<Gate>): Promise<Balancer> => {
  let ready: ReadonlyArray<Gate> = []
  const known = new Set<Gate>()
  let turn = 0
  let stopped = false
  const probe = async (): Promise<void> => {
    while (!stopped) {
      const asked = await Promise.all([...known].map(async (gate) => ((await isReady(gate)) ? [gate] : [])))
      ready = asked.flat()
      await sleep(PROBE_MILLIS)
    }
  }
  const add = async (gate: Gate): Promise<void> => {
    known.add(gate)
    await eventually("the balancer knows that the gate is ready", () => ready.includes(gate))
  }
  const probing = probe()
  await Promise.all(gates.map(add))
  return {
    add,
    pick: () => {
      const gate = ready[turn++ % ready.length]
      if (gate === undefined) throw new Error("no gate is ready")
      return gate
    },
    dispose: async () => {
      stopped = true
      await probing
    },
  }
}

/** Two thirds of the requests ask for a ticket, one third for a session. */
const CLIENTS = 4
/** Between two requests of a client (ms): the gates are not to be busy, but never without a request. */
const PAUSE_MILLIS = 15

/** Asks steadily until it is stopped; answers how many requests were answered, and the answers that no caller should see. */
export const load = ({ pick }: Balancer, tickets: ReadonlyArray<string>) => {
  let stopped = false
  let answered = 0
  const failed: Array<string> = []
  const client = async (first: number): Promise<void> => {
    for (let n = first; !stopped; n++) {
      const gate = pick()
      const ticket = tickets[n % tickets.length]
      const asked = n % 3 === 0 ? gate.call(`192.0.2.${n % 250}`) : gate.ask("GET", `/api/session/${ticket}`)
      const { status, text } = await asked.catch((error: unknown) => ({ status: 0, text: String(error) }))
      answered++
      if (status !== 200 && status !== 202) failed.push(`${gate.url} ${status} ${text}`)
      await sleep(PAUSE_MILLIS)
    }
  }
  const clients = Array.from({ length: CLIENTS }, (_, n) => client(n * 100))
  return {
    /** Waits for so many further answers. */
    more: async (count: number): Promise<void> => {
      const enough = answered + count
      await eventually(`${count} more answers`, () => answered >= enough)
    },
    stop: async () => {
      stopped = true
      await Promise.all(clients)
      return { answered, failed }
    },
  }
}
