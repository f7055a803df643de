/**
 * The built gate while its platform is in trouble, with every slot held and callers waiting: what each of them is told. A caller's page
 * starts its call as soon as it may, as the widget does.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { WebSocket } from "ws"
import { adviceFor } from "../../src/web/console/advice.ts"
import { stateOf } from "../../src/web/console/campaign-state.ts"
import { type Bench, type Gate, runProgram, settingsFor } from "../harness/gate.ts"
import { ask, field } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startMortalPlatform, type Trouble } from "./mortal-platform.ts"

const CONSOLE_TOKEN = "outage-console-token-0123456789"
export const SLOTS = 3

/** What everybody is told at one moment. */
export interface Told {
  /** seconds since the trouble began */
  readonly at: number
  /** the last position that the last caller in line was sent */
  readonly caller: string
  readonly newcomer: string
  /** the console's, with what to do */
  readonly headline: string
  readonly log: ReadonlyArray<string>
  /** the state that the metrics show, with the code and the setting of a refusal */
  readonly metric: string
  /** the state of each campaign whose platform serves nobody, by `/health/ready` */
  readonly readiness: string
  readonly campaignShow: string
  /** callers who wait or are called, and callers whose ticket is over */
  readonly waiting: number
  readonly over: number
}

export interface Watched {
  readonly told: ReadonlyArray<Told>
  /** every second: the state that the metrics show */
  readonly states: ReadonlyArray<string>
  /** how many callers were served within some seconds after the trouble had ended, and in the order of the queue */
  readonly servedAfter: number
  readonly inOrder: boolean
  readonly over: number
}

interface Page {
  readonly ticket: string
  readonly last: () => Readonly<Record<string, unknown>> | undefined
  readonly startedAt: () => number | undefined
  readonly isOver: () => boolean
  readonly dispose: () => Promise<void>
}

/** A page that waits, and starts its call when it is called. */
const openPage = async (gate: Gate, ticket: string): Promise<Page> => {
  const socket = new WebSocket(`${gate.url.replace(/^http/, "ws")}/api/session/${ticket}/events`)
  let last: Readonly<Record<string, unknown>> | undefined
  let startedAt: number | undefined
  let over = false
  socket.on("error", () => {})
  socket.on("message", (data) => {
    const event: Readonly<Record<string, unknown>> = JSON.parse(String(data))
    if (event.type === "position") last = event
    if (event.type === "start_call") socket.send('{"type":"start"}')
    if (event.type === "session") startedAt ??= performance.now()
    if (event.type === "ended") over = true
  })
  await new Promise<void>((opened) => socket.on("open", () => opened()))
  return {
    ticket,
    last: () => last,
    startedAt: () => startedAt,
    isOver: () => over,
    dispose: async () => socket.terminate(),
  }
}

const told = (answer: Readonly<Record<string, unknown>> | undefined): string => {
  if (answer === undefined) return "nothing"
  const { disrupted, estimatedWaitSeconds } = answer
  const wait = typeof estimatedWaitSeconds === "number" ? `wait ${estimatedWaitSeconds} s` : "no estimate"
  return disrupted === true ? `agent unavailable, ${wait}` : wait
}

const metricOf = (text: string): string => {
  const state =
    /^voicegate_platform_state\{(?=[^}]*campaign="default")[^}]*state="(\w+)"[^}]*\} 1$/m.exec(text)?.[1] ?? "?"
  const rejected = /^voicegate_platform_rejected\{([^}]*)\} 1$/m.exec(text)?.[1]
  const label = (name: string): string => new RegExp(`${name}="([^"]*)"`).exec(rejected ?? "")?.[1] ?? ""
  return rejected === undefined ? state : `${state} ${label("code")} ${label("setting")}`
}

/**
 * @param endsCall one of the calls ends two seconds after the trouble has begun, so that a start is tried
 * @param moments when to look, in seconds since the trouble began
 */
export const watchOutage = async (
  bench: Bench,
  trouble: Trouble,
  {
    callers,
    endsCall,
    moments,
  }: { readonly callers: number; readonly endsCall: boolean; readonly moments: ReadonlyArray<number> },
): Promise<Watched> => {
  const platform = bench.own(await startMortalPlatform())
  const gate = await bench.gate(
    settingsFor(platform, {
      VoiceAiPlatform__MaxConcurrency: String(SLOTS),
      Security__ConsoleToken: CONSOLE_TOKEN,
    }),
  )
  const access = {
    Security__ConsoleToken: CONSOLE_TOKEN,
    Server__Host: "127.0.0.1",
    Server__Port: new URL(gate.url).port,
  }
  // a call that has ended, so that the wait can be estimated
  await gate.call()
  await sleep(1_500)
  await gate.sessionEnded("conversation-1")
  for (let n = 0; n < SLOTS; n++) await gate.call()
  const pages: Array<Page> = []
  for (let n = 0; n < callers; n++) {
    const ticket = field(await gate.call(), "uniqueRequestId") ?? ""
    pages.push(bench.own(await openPage(gate, ticket)))
  }
  await eventually("the last caller is told the place", () => pages.at(-1)?.last() !== undefined)

  const logFrom = gate.output().length
  await platform.set(trouble)
  const began = performance.now()
  const states: Array<string> = []
  const scrape = async (): Promise<string> => metricOf((await ask("GET", `${gate.url}/metrics`)).text)
  const all: Array<Told> = []
  let ended = !endsCall
  for (let second = 1; second <= (moments.at(-1) ?? 0); second++) {
    await sleep(Math.max(0, began + second * 1_000 - performance.now()))
    if (!ended && second >= 2) {
      ended = true
      await gate.sessionEnded("conversation-2")
    }
    states.push(await scrape())
    if (!moments.includes(second)) continue
    const view = (
      await ask("GET", `${gate.url}/console/api/view?campaign=default&slots=0&places=0`, {
        headers: { authorization: `Bearer ${CONSOLE_TOKEN}` },
      })
    ).json
    const queue = view.queue as Parameters<typeof stateOf>[0] & { readonly waiting: number }
    const { meaning, title } = stateOf(queue, Number(view.now))
    const newcomer = await gate.call()
    const leaves = field(newcomer, "uniqueRequestId")
    if (leaves !== undefined) await gate.ask("DELETE", `/api/session/${leaves}`)
    const show = await runProgram(["campaign", "show", "default"], access)
    const ready = (await ask("GET", `${gate.url}/health/ready`)).json
    const tickets = await Promise.all(
      pages.map(async ({ ticket }) => field(await gate.ask("GET", `/api/session/${ticket}`), "state")),
    )
    all.push({
      at: second,
      caller: told(pages.at(-1)?.last()),
      newcomer: `${newcomer.status}, ${told(newcomer.json)}`,
      headline: `${title}: ${meaning} ${adviceFor("default", queue, Number(view.now), {})}`,
      log: gate
        .output()
        .slice(logFrom)
        .split("\n")
        .filter((line) => /WARN|ERROR|The platform/.test(line) && /latform/.test(line))
        .filter((line) => !/did not start a session|not known whether/.test(line)),
      metric: metricOf((await ask("GET", `${gate.url}/metrics`)).text),
      readiness: JSON.stringify(ready.platforms ?? {}),
      campaignShow: show.output
        .split("\n")
        .filter((line) => /^(state|platform) /.test(line))
        .map((line) => line.replace(/\s+/g, " ").trim())
        .join("; "),
      waiting: tickets.filter((state) => state === "waiting" || state === "called" || state === "starting").length,
      over: pages.filter((page) => page.isOver()).length,
    })
  }

  await platform.set(undefined)
  for (const n of [2, 3, 4]) await gate.sessionEnded(`conversation-${n}`)
  const served = (): ReadonlyArray<Page> => pages.filter((page) => page.startedAt() !== undefined)
  const first = Math.min(SLOTS, callers)
  await eventually("callers are served again", () => served().length >= first, 60_000).catch(() => {})
  const servedNow = served()
  return {
    told: all,
    states,
    servedAfter: servedNow.length,
    // with every slot free again, exactly the first in line are served
    inOrder: pages.slice(0, servedNow.length).every((page) => page.startedAt() !== undefined),
    over: pages.filter((page) => page.isOver()).length,
  }
}
