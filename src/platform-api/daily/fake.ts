/** Daily's API in memory, with its webhooks: a meeting begins when a page joins a room; the room exists until it is deleted or expires. */

import { type FakeVendor, fakeApi, field, type VendorAnswer, type VendorRequest } from "../../testing/FakeVendor.ts"
import { hmacSha256 } from "../shared/digests.ts"

const KEY = "key-of-the-fake-daily"
const SECRET = Buffer.from("webhook secret of the fake Daily").toString("base64")
const AGENT = "agent-fake"

const refusal = (status: number, error: string, info: string): VendorAnswer => ({ status, body: { error, info } })

interface Room {
  readonly expiry: number
  /** Daily's user ids of the callers in the room */
  readonly present: Set<string>
  /** how many meetings it had: one begins when somebody enters the empty room */
  meetings: number
}

/** @param now the time in ms since 1970, of the test's clock */
export const makeFakeDaily = (now: () => number): FakeVendor => {
  const rooms = new Map<string, Room>()
  const tokens = new Map<string, { readonly room: string; readonly user: string; readonly expiry: number }>()
  const roomOf = (name: string): Room | undefined => {
    const room = rooms.get(name)
    return room !== undefined && room.expiry > now() ? room : undefined
  }

  const answer = ({ body, headers, method, path }: VendorRequest): VendorAnswer => {
    if (headers.get("authorization") !== `Bearer ${KEY}`) return refusal(401, "authentication-error", "")
    const [, name = "", action = ""] = /^\/v1\/rooms\/([^/]+)(\/\w+)?$/.exec(path) ?? []
    const room = roomOf(name)
    switch (`${method} ${name === "" ? path : `:name${action}`}`) {
      case "GET /v1/":
        return { status: 200, body: { domain_name: "fake", config: {} } }
      case "GET /v1/webhooks":
        return {
          status: 200,
          body: [
            {
              uuid: "webhook-1",
              url: "https://gate.example/api/webhook/daily",
              state: "ACTIVE",
              eventTypes: ["meeting.started", "meeting.ended"],
            },
          ],
        }
      case "POST /v1/rooms": {
        const named = String(field(body, "name"))
        if (roomOf(named) !== undefined) return refusal(400, "invalid-request-error", "a room of this name exists")
        if (field(body, "privacy") !== "private")
          return refusal(400, "invalid-request-error", "expected a private room")
        rooms.set(named, { expiry: Number(field(body, "properties", "exp")) * 1000, present: new Set(), meetings: 0 })
        return { status: 200, body: { name: named, url: `https://fake.daily.example/${named}` } }
      }
      case "POST /v1/meeting-tokens": {
        const token = `token-${tokens.size + 1}`
        tokens.set(token, {
          room: String(field(body, "properties", "room_name")),
          user: String(field(body, "properties", "user_id")),
          expiry: Number(field(body, "properties", "exp")) * 1000,
        })
        return { status: 200, body: { token } }
      }
      case "GET :name/presence":
        return room === undefined
          ? refusal(404, "not-found", "no such room")
          : { status: 200, body: { total_count: room.present.size, data: [] } }
      case "POST :name/eject": {
        const users = field(body, "user_ids")
        if (room === undefined) return refusal(404, "not-found", "no such room")
        for (const user of Array.isArray(users) ? users : []) room.present.delete(user)
        return { status: 200, body: { ejectedIds: [] } }
      }
      case "DELETE :name":
        // like the real one as far as is known: who is in the room stays, so callers are ejected before
        if (room === undefined) return refusal(404, "not-found", "no such room")
        if (room.present.size === 0) rooms.delete(name)
        return { status: 200, body: { deleted: true, name } }
      default:
        return refusal(404, "not-found", "")
    }
  }

  const webhook = (body: unknown) => {
    const rawBody = JSON.stringify(body)
    const time = String(now())
    const signature = hmacSha256(Buffer.from(SECRET, "base64"), `${time}.${rawBody}`, "base64")
    return { headers: { "x-webhook-timestamp": time, "x-webhook-signature": signature }, rawBody }
  }

  return {
    ...fakeApi(answer),
    settings: {
      Platform: "daily",
      MaxConcurrency: 1,
      Daily: { ApiKey: KEY, AgentId: AGENT, WebhookSecret: SECRET },
    },
    // Daily's API tells no limit
    setLimit: () => {},
    join: (credential) => {
      const token = credential.shape === "url+token" ? tokens.get(credential.token) : undefined
      const room = token && roomOf(token.room)
      if (token === undefined || room === undefined || token.expiry <= now()) return undefined
      if (room.present.size === 0) room.meetings++
      room.present.add(token.user)
      return token.room
    },
    open: (id) => void rooms.set(id, { expiry: now() + 3_600_000, present: new Set(["somebody"]), meetings: 1 }),
    isRunning: (id) => (roomOf(id)?.present.size ?? 0) > 0,
    hangUp: (id) => {
      const room = roomOf(id)
      if (room === undefined || room.present.size === 0) return undefined
      room.present.clear()
      return webhook({
        version: "1.0.0",
        type: "meeting.ended",
        payload: { room: id, meeting_id: `${id}-${room.meetings}` },
      })
    },
    webhook,
  }
}
