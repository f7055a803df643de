/** Pipecat Cloud's API in memory, with Daily as its transport. It sends no webhooks. */
import { DateTime } from "effect"
import {
  type FakeCall,
  type FakeVendor,
  fakeApi,
  fakeCalls,
  field,
  type VendorAnswer,
  type VendorRequest,
} from "../../testing/FakeVendor.ts"

const PUBLIC = "public-key-of-the-fake-pipecat"
const PRIVATE = "private-key-of-the-fake-pipecat"
const AGENT = "agent-fake"
const MAX_AGENTS = 50

const refusal = (status: number, error: string, code = `${status}`): VendorAnswer => ({ status, body: { error, code } })

/** @param now the time in ms since 1970, of the test's clock */
export const makeFakePipecat = (now: () => number): FakeVendor => {
  const calls = fakeCalls("session-")
  const joinBefore = new Map<string, number>()
  const shown = ({ id, running }: FakeCall) => ({
    sessionId: id,
    endedAt: running ? null : DateTime.formatIso(DateTime.makeUnsafe(now())),
  })

  const answer = ({ body, headers, method, path }: VendorRequest): VendorAnswer => {
    const isPublic = path.startsWith("/v1/public/")
    if (headers.get("authorization") !== `Bearer ${isPublic ? PUBLIC : PRIVATE}`) return refusal(401, "Unauthorized")
    const [, id = ""] = new RegExp(`^/v1/agents/${AGENT}/sessions/([^/]+)$`).exec(path) ?? []
    const call = calls.find(id)
    switch (`${method} ${id === "" ? path : ":id"}`) {
      case `GET /v1/agents/${AGENT}`: {
        const maxReplicas = Math.min(calls.limit(), MAX_AGENTS)
        return { status: 200, body: { activeSessionCount: calls.inUse(), autoScaling: { maxReplicas } } }
      }
      case `POST /v1/public/${AGENT}/start`: {
        const started = calls.start(field(body, "body", "metadata"))
        if (started === undefined) return refusal(429, "Rate limit exceeded. Please try again later")
        joinBefore.set(started.id, Number(field(body, "dailyMeetingTokenProperties", "exp")) * 1000)
        const dailyRoom = `https://cloud.daily.example/${started.id}`
        return { status: 200, body: { sessionId: started.id, dailyRoom, dailyToken: started.bearer } }
      }
      case "GET :id":
        return call === undefined ? refusal(404, "Session not found") : { status: 200, body: shown(call) }
      case "DELETE :id":
        if (call === undefined) return refusal(404, "Session not found")
        calls.end(id)
        return { status: 200, body: { status: "terminated", session_id: id } }
      default:
        return refusal(404, "Agent deployment not found")
    }
  }

  return {
    ...fakeApi(answer),
    settings: {
      Platform: "pipecat",
      MaxConcurrency: 1,
      Pipecat: { PublicKey: PUBLIC, PrivateKey: PRIVATE, AgentId: AGENT },
    },
    setLimit: calls.setLimit,
    join: (credential) => {
      const id = credential.shape === "url+token" ? calls.opened(credential.token) : undefined
      return id !== undefined && now() < (joinBefore.get(id) ?? 0) ? id : undefined
    },
    isRunning: calls.isRunning,
    hangUp: (id) => void calls.end(id),
    webhook: (body) => ({ headers: {}, rawBody: JSON.stringify(body) }),
  }
}
