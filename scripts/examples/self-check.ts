/**
 * Plays a browser for `--once` of the hosts over HTTP: two callers on one slot, the second is called when the first hangs
 * up. Throws when something is unexpected.
 */
import { strict as assert } from "node:assert"
import { once } from "node:events"
import { WebSocket } from "ws"

const TIMEOUT = { signal: AbortSignal.timeout(20_000) }

const call = async (url: string, body?: unknown) => {
  const response = await fetch(url, {
    ...TIMEOUT,
    ...(body === undefined
      ? {}
      : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const json: Readonly<Record<string, unknown>> = text.startsWith("{") ? JSON.parse(text) : {}
  return { status: response.status, text, field: (name: string): string => String(json[name]) }
}

/** Connects to a ticket's events; `next` waits for one of a type. */
const listen = async (url: string) => {
  const events: Array<{ readonly type: string }> = []
  const socket = new WebSocket(url)
  socket.on("message", (data) => {
    const event: { readonly type: string } = JSON.parse(String(data))
    console.log(`bob    receives: ${event.type}`)
    events.push(event)
    socket.emit("event")
  })
  await once(socket, "open", TIMEOUT)
  return {
    next: async (type: string): Promise<void> => {
      while (!events.some((event) => event.type === type)) await once(socket, "event", TIMEOUT)
    },
    close: () => socket.close(),
  }
}

export const selfCheck = async (origin: string): Promise<void> => {
  const page = await call(`${origin}/`)
  assert.match(page.text, /own page/)
  console.log("host   answers at its own route")

  const ada = await call(`${origin}/call-me`, { name: "ada" })
  assert.equal(ada.status, 200, ada.text)
  const line = new WebSocket(ada.field("talkAt"))
  await once(line, "message", TIMEOUT)
  console.log("ada    talks, started by the host's own route")

  const bob = await call(`${origin}/voice/api/session/request`, { dynamicVariables: { name: "bob" } })
  assert.equal(bob.status, 202, bob.text)
  const ticket = bob.field("uniqueRequestId")
  const eventsUrl = bob.field("eventsUrl")
  console.log(`bob    waits at position ${bob.field("queuePosition")}`)

  const events = await listen(`${origin.replace("http", "ws")}${eventsUrl}`)
  await events.next("position")
  line.close()
  console.log("ada    hangs up")
  await events.next("start_call")

  const started = await call(`${origin}/voice/api/session/${ticket}/start`, {})
  assert.equal(started.status, 200, started.text)
  const second = new WebSocket(started.field("webSocketUrl"))
  await once(second, "message", TIMEOUT)
  console.log("bob    talks")
  second.close()
  await events.next("ended")
  events.close()
  console.log("self-check passed")
}
