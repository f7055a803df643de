/** Puts callers into a gate's queue behind a running call, and starts and ends calls. */
import { callerOf } from "./crowd.ts"
import { WEBHOOK_TOKEN } from "./servers.ts"

const AT_ONCE = 50

export interface Waiting {
  /** in queue order */
  readonly tickets: ReadonlyArray<string>
  /** ends the running call, so that the first in the queue is called */
  readonly end: () => Promise<void>
  /** starts the called caller's call */
  readonly startNext: () => Promise<void>
}

const text = (value: unknown, field: string): string => {
  const found: unknown = Reflect.get(Object(value), field)
  return typeof found === "string" || typeof found === "number" ? String(found) : ""
}

const post = async (url: string, headers: Readonly<Record<string, string>>, body: unknown): Promise<unknown> => {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

export const queueUp = async (gate: string, count: number): Promise<Waiting> => {
  const request = (n: number): Promise<unknown> =>
    post(
      `${gate}/api/session/request`,
      { "x-forwarded-for": callerOf(n) },
      { clientIdentifier: "shop-42", dynamicVariables: { name: "Ada", page: "/cart" } },
    )
  let live = text(await request(count), "sessionId")
  const tickets: Array<string> = []
  for (let from = 0; from < count; from += AT_ONCE) {
    const batch = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, n) => request(from + n))
    for (const queued of await Promise.all(batch)) {
      tickets[Number(text(queued, "queuePosition")) - 1] = text(queued, "uniqueRequestId")
    }
  }
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
