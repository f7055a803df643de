/** Puts callers into a gate's queue behind a running call, and starts and ends calls. */
import { callerOf } from "./crowd.ts"
import { WEBHOOK_TOKEN } from "./servers.ts"

const AT_ONCE = 50
/** The number of the caller who has the slot. */
const CALLER_IN_CALL = 2 ** 24 - 1

export interface Waiting {
  /** in queue order */
  readonly tickets: ReadonlyArray<string>
  /** ends the running call, so that the first in the queue is called */
  readonly end: () => Promise<void>
  /** starts the called caller's call */
  readonly startNext: () => Promise<void>
}

export const text = (value: unknown, field: string): string => {
  const found: unknown = Reflect.get(Object(value), field)
  return typeof found === "string" || typeof found === "number" ? String(found) : ""
}

export const post = async (url: string, headers: Readonly<Record<string, string>>, body: unknown): Promise<unknown> => {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

const request = (gate: string, n: number): Promise<unknown> =>
  post(
    `${gate}/api/session/request`,
    { "x-forwarded-for": callerOf(n) },
    { clientIdentifier: "shop-42", dynamicVariables: { name: "Ada", page: "/cart" } },
  )

/** Queues callers, the first of whom has this number, while every slot is busy. Their tickets in the order of their places. */
export const queueCallers = async (gate: string, from: number, count: number): Promise<ReadonlyArray<string>> => {
  const places: Array<readonly [place: number, ticket: string]> = []
  for (let begun = 0; begun < count; begun += AT_ONCE) {
    const batch = Array.from({ length: Math.min(AT_ONCE, count - begun) }, (_, n) => request(gate, from + begun + n))
    for (const queued of await Promise.all(batch)) {
      places.push([Number(text(queued, "queuePosition")), text(queued, "uniqueRequestId")])
    }
  }
  return places.sort(([a], [b]) => a - b).map(([, ticket]) => ticket)
}

/** Takes the only slot; the id of its session. */
export const takeSlot = async (gate: string): Promise<string> => text(await request(gate, CALLER_IN_CALL), "sessionId")

export const queueUp = async (gate: string, count: number): Promise<Waiting> => {
  let live = await takeSlot(gate)
  const tickets = await queueCallers(gate, 0, count)
  let called = 0
  return {
    tickets,
    end: async () => {
      await post(`${gate}/api/webhook/session-ended`, { "x-api-token": WEBHOOK_TOKEN }, { ConversationSessionId: live })
    },
    startNext: async () => {
      live = text(await post(`${gate}/api/session/${tickets[called++]}/start`, {}, {}), "sessionId")
    },
  }
}
