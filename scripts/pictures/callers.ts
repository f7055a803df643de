/** Callers without a browser, as many as keep two slots busy: they wait, talk for some minutes, or lose patience. */
import { once } from "node:events"
import { WebSocket } from "ws"
import { FASTER } from "./pace.ts"

interface Answer {
  readonly status?: string
  readonly webSocketUrl?: string
  readonly uniqueRequestId?: string
  readonly eventsUrl?: string
}

/** What callers say, with a pause of some seconds after each line. */
const TALKS: ReadonlyArray<ReadonlyArray<string>> = [
  ["Where is my order?", "It was to come on Tuesday.", "Thank you, that helps."],
  ["I’d like to change my booking.", "From Thursday to Friday, please.", "Great."],
  ["Do you ship to Norway?", "And how long does it take?"],
  ["My invoice has the wrong address.", "The new one is 12 Harbour Street.", "Could you send it again?", "Thanks!"],
  ["Can I return shoes that I have worn?", "Only once, indoors."],
  ["I forgot my password.", "I see the email now. Thank you."],
]

const wait = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

/** The same numbers at each run, so that pictures differ only by what has changed. */
export const makeChance = (): (() => number) => {
  let state = 7
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

/**
 * Keeps calling until `signal`. Durations are of an hour that is `FASTER`, until `caughtUp` (ms since 1970).
 *
 * @param gate its origin
 */
export const callAll = async (gate: string, caughtUp: number, signal: AbortSignal): Promise<void> => {
  const chance = makeChance()
  const minutes = (least: number, most: number): number => {
    const millis = 60_000 * (least + (most - least) * chance())
    return Date.now() < caughtUp ? millis / FASTER : millis
  }
  const send = async (method: string, path: string, body?: object): Promise<Answer> => {
    const response = await fetch(gate + path, {
      method,
      headers: { "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return text === "" ? {} : JSON.parse(text)
  }
  const talk = async (url: string): Promise<void> => {
    const socket = new WebSocket(url)
    await once(socket, "open")
    const talked = TALKS[Math.floor(chance() * TALKS.length)] ?? []
    const length = minutes(1.2, 4.5)
    for (const text of talked) {
      await wait(length / (talked.length + 1))
      socket.send(JSON.stringify({ type: "text", text }))
    }
    await wait(length / (talked.length + 1))
    socket.close()
  }
  const call = async (number: number): Promise<void> => {
    const clientIdentifier = `customer-${4_000 + number * 37}`
    const answer = await send("POST", "/api/session/request", { clientIdentifier })
    if (answer.webSocketUrl !== undefined) return talk(answer.webSocketUrl)
    const { eventsUrl, uniqueRequestId } = answer
    if (eventsUrl === undefined || uniqueRequestId === undefined) return
    const events = new WebSocket(gate.replace("http", "ws") + eventsUrl)
    const patience = setTimeout(() => void send("DELETE", `/api/session/${uniqueRequestId}`), minutes(3, 14))
    let session: Promise<void> | undefined
    events.on("message", (data) => {
      const { type, webSocketUrl } = JSON.parse(String(data))
      // some do not come back in time
      if (type === "start_call" && chance() > 0.06) events.send(JSON.stringify({ type: "start" }))
      if (type === "session") session = talk(webSocketUrl)
      if (type === "session" || type === "ended") events.close()
    })
    await once(events, "close")
    clearTimeout(patience)
    await session
  }
  for (let number = 1; !signal.aborted; number++) {
    void call(number).catch(() => {})
    // more come than can talk, in waves
    await wait(minutes(0.3, number % 24 < 12 ? 1.6 : 2.6))
  }
}
