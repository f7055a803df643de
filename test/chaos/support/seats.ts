/** A fixed address at which a gate runs while its process is killed, frozen and restarted. */

import { type Bench, type Environment, type Gate, WEBHOOK_TOKEN } from "../../harness/gate.ts"
import { ask } from "../../harness/http.ts"
import { eventually, freePort } from "../../harness/process.ts"

export interface Seat {
  readonly port: number
  /** `http://127.0.0.1:port`, or the address of a test proxy in front of it */
  readonly url: string
  /** the settings of the process that is started next */
  settings: Environment
  readonly gate: () => Gate
  /** the output of each process that ran here */
  readonly outputs: () => ReadonlyArray<string>
  readonly start: () => Promise<void>
  readonly kill: (signal: NodeJS.Signals) => Promise<void>
  /** waits until it reports that it is ready */
  readonly ready: () => Promise<void>
}

/** Gates start one after the other, whatever scenarios run concurrently: starting is their most expensive phase. */
let starting: Promise<unknown> = Promise.resolve()
const oneAtATime = <A>(start: () => Promise<A>): Promise<A> => {
  const started = starting.then(start)
  starting = started.catch(() => {})
  return started
}

export const makeSeat = async (
  bench: Bench,
  environment: Environment,
  entrance: (port: number) => Promise<string> = async (port) => `http://127.0.0.1:${port}`,
): Promise<Seat> => {
  const port = await freePort()
  const url = await entrance(port)
  let current: Gate | undefined
  const all: Array<Gate> = []
  const gate = (): Gate => {
    if (current === undefined) throw new Error("the gate was not started")
    return current
  }
  const seat: Seat = {
    port,
    url,
    settings: environment,
    gate,
    outputs: () => all.map(({ output }) => output()),
    start: async () => {
      current = await oneAtATime(() => bench.gate({ ...seat.settings, Server__Port: String(port) }))
      all.push(current)
    },
    kill: async (signal) => {
      gate().kill(signal)
      if (signal === "SIGKILL") await gate().exit
    },
    ready: () =>
      eventually(
        "the gate is ready",
        async () => (await ask("GET", `http://127.0.0.1:${port}/health/ready`)).status === 200,
        60_000,
      ),
  }
  return seat
}

/** Posts the platform's webhook to the gate at this address. */
export const postWebhook = async (
  url: string,
  sessionId: string,
): Promise<{ readonly status: number; readonly released: boolean }> => {
  const { json, status } = await ask("POST", `${url}/api/webhook/session-ended`, {
    headers: { "x-api-token": WEBHOOK_TOKEN },
    body: { ConversationSessionId: sessionId },
  })
  return { status, released: json.released === true }
}
