/**
 * AssemblyAI's Voice Agent in memory. Its token opens one session, once. Its list of sessions tells which of them run, by AssemblyAI's own
 * ids.
 */
import { DateTime } from "effect"
import {
  type FakeVendor,
  fakeApi,
  fakeTokens,
  pageOf,
  type VendorAnswer,
  type VendorRequest,
} from "../../testing/FakeVendor.ts"

const KEY = "key-of-the-fake-assemblyai"

const refusal = (status: number, error: string): VendorAnswer => ({ status, body: { error } })
const isBetween = (value: string | null, least: number, most: number): boolean =>
  value !== null && /^\d+$/.test(value) && Number(value) >= least && Number(value) <= most

/** @param now the time in ms since 1970, of the test's clock */
export const makeFakeAssemblyAI = (now: () => number): FakeVendor => {
  const tokens = fakeTokens("session-", now)

  const answer = ({ headers, method, path, query }: VendorRequest): VendorAnswer => {
    if (headers.get("authorization") !== `Bearer ${KEY}`) return refusal(401, "Unauthorized")
    if (`${method} ${path}` === "GET /v1/sessions") {
      const all = tokens.begun().map(({ at, id }) => ({
        id,
        agent_id: "agent-fake",
        status: tokens.isRunning(id) ? "active" : "completed",
        created_at: DateTime.formatIso(DateTime.makeUnsafe(at)),
      }))
      const { items, next } = pageOf(all, Number(query.get("limit")), query.get("cursor") ?? undefined)
      const body = { sessions: items, has_more: next !== undefined, response_metadata: { next_cursor: next ?? "" } }
      return { status: 200, body }
    }
    if (`${method} ${path}` !== "GET /v1/token") return refusal(404, "Not found")
    const seconds = query.get("expires_in_seconds")
    if (!isBetween(seconds, 1, 600)) return refusal(400, "expires_in_seconds")
    if (!isBetween(query.get("max_session_duration_seconds"), 60, 10_800)) {
      return refusal(400, "max_session_duration_seconds")
    }
    return { status: 200, body: { token: tokens.grant(Number(seconds), 1), expires_in_seconds: Number(seconds) } }
  }

  return {
    ...fakeApi(answer),
    settings: { Platform: "assemblyai", MaxConcurrency: 1, AssemblyAI: { ApiKey: KEY, AgentId: "agent-fake" } },
    setLimit: tokens.setLimit,
    join: (credential) => (credential.shape === "single-use-token" ? tokens.open(credential.token) : undefined),
    isRunning: tokens.isRunning,
    hangUp: (id) => void tokens.end(id),
    heldUntilExpiry: true,
    webhook: (body) => ({ headers: {}, rawBody: JSON.stringify(body) }),
  }
}
