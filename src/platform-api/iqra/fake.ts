/** The default platform's API in memory, as far as the gate uses it. It sends no webhooks of its own: a campaign's owner sets them up. */
import { DateTime } from "effect"
import type { FakeVendor } from "../../testing/FakeVendor.ts"
import { fakeApi, field, type VendorAnswer, type VendorRequest } from "../../testing/FakeVendor.ts"

const isoOf = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

const KEY = "key-of-the-fake-iqra"

const ok = (data: unknown): VendorAnswer => ({ status: 200, body: { success: true, message: null, code: null, data } })
const no = (code: string, message: string, status = 200): VendorAnswer => ({
  status,
  body: { success: false, message, code, data: null },
})

interface Session {
  readonly id: string
  readonly clientIdentifier: string
  readonly createdAt: number
  running: boolean
}

/** @param now the time in ms since 1970, of the test's clock */
export const makeFakeIqra = (now: () => number): FakeVendor => {
  const sessions: Array<Session> = []
  let limit = Number.POSITIVE_INFINITY
  const inUse = () => sessions.filter(({ running }) => running).length
  const find = (id: string) => sessions.find((session) => session.id === id)
  const shown = ({ clientIdentifier, createdAt, id, running }: Session) => ({
    id,
    webCampaignId: "campaign",
    clientIdentifier,
    createdAt: isoOf(createdAt),
    status: 3,
    endedAt: running ? null : isoOf(now()),
  })

  const answer = ({ body, headers, path }: VendorRequest): VendorAnswer => {
    if (headers.get("authorization") !== `Token ${KEY}`) return no("X:API_KEY_INVALID", "the key is unknown", 401)
    const [, id = "", action] =
      /^\/api\/v1\/business\/business\/websession\/(?:history\/)?([^/]+)(?:\/(end))?$/.exec(path) ?? []
    if (path === "/api/v1/business/business") return ok({ name: "Business" })
    if (path === "/api/v1/user/billing/featuresactivequantity") return ok({ Call_Concurrency: limit })
    if (path === "/api/v1/user/billing/usage") return ok({ currentUsage: { Call_Concurrency: inUse() } })
    if (id === "initiate") {
      if (inUse() >= limit) return no("Start:CONCURRENCY_LIMIT_REACHED", "all calls are in use")
      const session: Session = {
        id: `web-${sessions.length + 1}`,
        clientIdentifier: String(field(body, "clientIdentifier")),
        createdAt: now(),
        running: true,
      }
      sessions.push(session)
      return ok({ webSessionId: session.id, sessionWebSocketURL: `wss://iqra.example/${session.id}?token=t` })
    }
    if (id === "history") return ok({ items: sessions.toReversed().map(shown), nextCursor: null })
    const session = find(id)
    if (session === undefined) return no("History:WEB_SESSION_NOT_FOUND", "no such session", 404)
    if (action === "end") session.running = false
    return ok(shown(session))
  }

  return {
    ...fakeApi(answer),
    settings: {
      ApiSecretToken: KEY,
      BaseUrl: "https://iqra.example/api/v1",
      BusinessId: "business",
      WebCampaignId: "campaign",
      DefaultRegionId: "eu",
      MaxConcurrency: 1,
    },
    setLimit: (to) => {
      limit = to
    },
    join: () => undefined,
    isRunning: (id) => find(id)?.running === true,
    hangUp: (id) => {
      const session = find(id)
      if (session !== undefined) session.running = false
      return undefined
    },
    webhook: (body) => ({ headers: {}, rawBody: JSON.stringify(body) }),
  }
}
