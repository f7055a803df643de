/** The attacks: each runs against its own gate, and reports what it gained and its cost. */
import { setTimeout as sleep } from "node:timers/promises"
import { type Bench, runConcurrently, SLOTS, startBench } from "./bench.ts"

export interface Row {
  readonly name: string
  readonly gets: string
  readonly cost: string
}
export type Attack = (program: string) => Promise<ReadonlyArray<Row>>

const PLACES = 10_000
const WINDOW_SECONDS = 30
const CONCURRENCY = 64
/** The number of concurrent pollers of the attacker's tickets, the first in the queue. */
const POLLERS = 100

/** The n-th address of one IPv6 /48, each in a different /64. */
const addressInNetwork = (n: number): string =>
  `2a02:2450:7::${(n + 1).toString(16)}`.replace("::", `:${n.toString(16)}::`)
/** The n-th honest caller, each in a different IPv4 /24. */
const honest = (n: number): string => `${81 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}.7`
const percent = (part: number, whole: number): string => `${Math.round((100 * part) / Math.max(1, whole))} %`
const since = (at: number): number => (performance.now() - at) / 1000

const withBench = async <A>(
  program: string,
  work: (bench: Bench) => Promise<A>,
  more: Readonly<Record<string, string>> = {},
): Promise<A> => {
  const bench = await startBench(program, more)
  try {
    return await work(bench)
  } finally {
    await bench.stop()
  }
}

/** One IPv4 address makes 21 requests. */
export const address: Attack = (program) =>
  withBench(program, async (bench) => {
    const got = { slots: 0, places: 0, refused: 0 }
    for (let n = 0; n < 21; n++) {
      const { status } = await bench.ask("81.2.69.142")
      if (status === 200) got.slots++
      else if (status === 202) got.places++
      else got.refused++
    }
    return [
      {
        name: "one IPv4 address, 21 requests",
        gets: `${got.slots} of ${SLOTS} slots, ${got.places} places`,
        cost: `21 requests, ${got.refused} of them refused`,
      },
    ]
  })

/** The network takes as many places as it can. */
const fillQueue = async (bench: Bench) => {
  const began = performance.now()
  const tickets: Array<{ readonly from: string; readonly ticket: string }> = []
  let asked = 0
  let slots = 0
  let refusedInARow = 0
  await runConcurrently(PLACES + SLOTS + CONCURRENCY, CONCURRENCY, async (n) => {
    const from = addressInNetwork(n)
    const { status, ticket } = await bench.ask(from)
    asked++
    if (status === 202) tickets.push({ from, ticket })
    if (status === 200) slots++
    refusedInARow = status < 300 ? 0 : refusedInARow + 1
    return refusedInARow < CONCURRENCY && tickets.length < PLACES
  })
  return { tickets, asked, slots, seconds: since(began) }
}

/** One /48 fills the queue; then for 30 s three honest callers of other networks arrive per second, and all start when called. */
export const network: Attack = (program) =>
  withBench(program, async (bench) => {
    const { asked, seconds, slots, tickets } = await fillQueue(bench)
    const places = tickets.length
    bench.talk = 3_000
    for (let n = 0; n < SLOTS; n++) await bench.endOne()
    const until = performance.now() + 30_000
    const calls = { attacker: 0, honest: 0 }
    let came = 0
    let refused = 0
    let out = false
    /** Polls a ticket until it has started. */
    const follow = async (from: string, ticket: string, who: keyof typeof calls, every: number): Promise<void> => {
      while (!out) {
        const { state, status } = await bench.state(from, ticket)
        if (state === "called" && (await bench.start(from, ticket)).status === 200) {
          calls[who]++
          return
        }
        if (status === 404 || (state !== "" && state !== "waiting" && state !== "called")) return
        await sleep(every)
      }
    }
    const attacker = Array.from({ length: POLLERS }, async () => {
      while (!out) {
        const next = tickets.shift()
        if (next === undefined) return
        await follow(next.from, next.ticket, "attacker", 300)
      }
    })
    // the attacker tries to take free places again, twenty times per second
    let again = PLACES + SLOTS + CONCURRENCY
    attacker.push(
      (async () => {
        while (!out) {
          const from = addressInNetwork(again++)
          const { status, ticket } = await bench.ask(from)
          if (status === 202) tickets.push({ from, ticket })
          await sleep(50)
        }
      })(),
    )
    const callers: Array<Promise<void>> = []
    while (performance.now() < until) {
      const from = honest(came++)
      callers.push(
        bench.ask(from).then(async ({ status, ticket }) => {
          if (status === 503) refused++
          if (status === 200) calls.honest++
          if (status === 202) await follow(from, ticket, "honest", 500)
        }),
      )
      await sleep(333)
    }
    out = true
    await Promise.all([...attacker, ...callers])
    const filled = places >= PLACES ? `the queue of ${PLACES} in ${seconds.toFixed(1)} s` : `not the queue`
    return [
      {
        name: "one IPv6 /48 fills the queue",
        gets: `${filled}: ${slots} slots, ${percent(places, PLACES)} of the places`,
        cost: `${asked} requests from as many /64 in ${seconds.toFixed(1)} s`,
      },
      {
        name: "… and 90 honest callers of other networks come within 30 s",
        gets: `${refused} of ${came} refused; ${percent(calls.attacker, calls.attacker + calls.honest)} of ${calls.attacker + calls.honest} calls`,
        cost: `${POLLERS} addresses that poll their tickets and start, and 20 requests per second`,
      },
    ]
  })

/** A called ticket that never starts holds a slot for the start window, which is short here and scaled to the default. */
export const turns: Attack = async (program) => {
  const one = await withBench(program, missedByOne, { Queue__StartWindowSeconds: "1" })
  const many = await withBench(program, missedByMany, { Queue__StartWindowSeconds: String(MANY_WINDOW_SECONDS) })
  // the sweep frees the slot half a second after the window on average
  const wasted = Math.min(1, (many.missed * (MANY_WINDOW_SECONDS + 0.5)) / (SLOTS * MANY_SECONDS))
  return [
    {
      name: "one address is called and never starts",
      gets: `${one.missed} turns per hour: ${one.missed * 2 * WINDOW_SECONDS} slot-seconds, as its page says that it is hidden`,
      cost: `${one.requests} requests, the last of them refused`,
    },
    {
      name: "one /48 is called and never starts, while 120 honest callers wait",
      gets: `${percent(wasted, 1)} of the slots' time: ${Math.round(wasted * SLOTS * 3_600)} slot-seconds per hour; ${many.calls} honest calls in ${MANY_SECONDS} s`,
      cost: `a request from another /64 for every turn: ${Math.round((wasted * SLOTS * 3_600) / WINDOW_SECONDS)} per hour`,
    },
  ]
}

/** An address queues, is called and does not start, as often as the limits allow. */
const missedByOne = async (bench: Bench) => {
  for (let n = 0; n < SLOTS; n++) await bench.ask(honest(n))
  const from = "81.2.69.142"
  const until = performance.now() + 60_000
  let requests = 0
  let missed = 0
  let refusedInARow = 0
  while (performance.now() < until && refusedInARow < 3) {
    const { status, ticket } = await bench.ask(from)
    requests++
    refusedInARow = status === 429 ? refusedInARow + 1 : 0
    if (status !== 202) continue
    await bench.endOne()
    for (let n = 0; n < 20; n++) {
      await sleep(200)
      const { state } = await bench.state(from, ticket, true)
      if (state !== "missed") continue
      missed++
      break
    }
    // an honest caller takes the slot again
    await bench.ask(honest(1_000 + requests))
  }
  return { requests, missed }
}

const MANY_WINDOW_SECONDS = 2
const MANY_SECONDS = 20

/** A network waits in front of 120 honest callers, and never starts when it is called. */
const missedByMany = async (bench: Bench) => {
  for (let n = 0; n < SLOTS; n++) await bench.ask(honest(n))
  const tickets: Array<readonly [from: string, ticket: string]> = []
  await runConcurrently(1_000, CONCURRENCY, async (n) => {
    const { status, ticket } = await bench.ask(addressInNetwork(n))
    if (status === 202) tickets.push([addressInNetwork(n), ticket])
    return status < 500
  })
  let out = false
  let calls = 0
  const callers = Array.from({ length: 120 }, async (_, n) => {
    const from = honest(100 + n)
    const { ticket } = await bench.ask(from)
    while (!out) {
      if ((await bench.state(from, ticket)).state === "called" && (await bench.start(from, ticket)).status === 200) {
        calls++
        return
      }
      await sleep(500)
    }
  })
  await sleep(1_000)
  bench.talk = 1_000
  for (let n = 0; n < SLOTS; n++) await bench.endOne()
  await sleep(MANY_SECONDS * 1_000)
  out = true
  await Promise.all(callers)
  let missed = 0
  await runConcurrently(tickets.length, CONCURRENCY, async (n) => {
    const [from, ticket] = tickets[n] ?? ["", ""]
    if ((await bench.state(from, ticket)).state === "missed") missed++
    return true
  })
  return { missed, calls }
}

/** Polling a ticket keeps it present, so the queue stays full. */
export const keepFull: Attack = (program) =>
  withBench(program, async (bench) => {
    const { tickets } = await fillQueue(bench)
    const held = tickets.length
    let answered = 0
    let refused = 0
    const began = performance.now()
    const SECONDS = 5
    // one address may poll all of them: the ticket is the credential
    await runConcurrently(held, CONCURRENCY, async (n) => {
      const { status } = await bench.state("81.2.69.142", tickets[n]?.ticket ?? "")
      if (status === 200) answered++
      else refused++
      return since(began) < SECONDS
    })
    const rate = answered / since(began)
    const needed = Math.ceil(held / 29)
    return [
      {
        name: "the places are kept with GETs",
        gets: `${held} places while the GETs continue`,
        cost: `${needed} GETs per second; one address gets ${Math.round(rate)} per second answered${refused > 0 ? ` and ${refused} refused` : ""}`,
      },
    ]
  })
