/** A LiveKit server in memory: rooms open when a page joins with its token, and close with a signed `room_finished`. */

import { type FakeVendor, fakeApi, field, type VendorAnswer, type VendorRequest } from "../../testing/FakeVendor.ts"
import { sha256 } from "../shared/digests.ts"
import { signJwt, verifyJwt } from "./jwt.ts"

const KEY = "APIfakeLiveKit"
const SECRET = "secret-of-the-fake-livekit-server"
/** How long the token of a webhook is valid (s). */
const WEBHOOK_TOKEN_SECONDS = 300

const refusal = (status: number, code: string, msg: string): VendorAnswer => ({ status, body: { code, msg } })

/** @param now the time in ms since 1970, of the test's clock */
export const makeFakeLiveKit = (now: () => number): FakeVendor => {
  const rooms = new Map<string, { readonly metadata: string }>()

  const answer = ({ body, headers, path }: VendorRequest): VendorAnswer => {
    const token = headers.get("authorization")?.replace(/^Bearer /, "") ?? ""
    const claims = verifyJwt(token, SECRET, now())
    if (claims?.iss !== KEY) return refusal(401, "unauthenticated", "invalid API key or token")
    switch (path) {
      case "/twirp/livekit.RoomService/ListRooms": {
        if (field(claims, "video", "roomList") !== true) return refusal(403, "permission_denied", "roomList is missing")
        const names = field(body, "names")
        const found = [...rooms.keys()].filter((name) => !Array.isArray(names) || names.includes(name))
        return { status: 200, body: { rooms: found.map((name) => ({ name, ...rooms.get(name) })) } }
      }
      case "/twirp/livekit.RoomService/DeleteRoom":
        if (field(claims, "video", "roomCreate") !== true)
          return refusal(403, "permission_denied", "roomCreate is missing")
        return rooms.delete(String(field(body, "room")))
          ? { status: 200, body: {} }
          : refusal(404, "not_found", "requested room does not exist")
      default:
        return refusal(404, "bad_route", "no handler for this path")
    }
  }

  const webhook = (body: unknown) => {
    const rawBody = JSON.stringify(body)
    const seconds = Math.floor(now() / 1000)
    const claims = { iss: KEY, nbf: seconds, exp: seconds + WEBHOOK_TOKEN_SECONDS, sha256: sha256(rawBody, "base64") }
    const headers = { authorization: signJwt(claims, SECRET), "content-type": "application/webhook+json" }
    return { headers, rawBody }
  }

  return {
    ...fakeApi(answer),
    settings: {
      Platform: "livekit",
      MaxConcurrency: 1,
      LiveKit: { Url: "wss://livekit.example", ApiKey: KEY, ApiSecret: SECRET, AgentName: "helper" },
    },
    // a LiveKit server has no limit that its API tells
    setLimit: () => {},
    join: (credential) => {
      if (credential.shape !== "url+token") return undefined
      const claims = verifyJwt(credential.token, SECRET, now())
      const room = field(claims, "video", "room")
      if (claims?.iss !== KEY || field(claims, "video", "roomJoin") !== true || typeof room !== "string")
        return undefined
      // a real server accepts a token for some time after its expiry; this one does not
      if (typeof claims.exp === "number" && claims.exp * 1000 <= now()) return undefined
      rooms.set(room, { metadata: String(field(claims, "roomConfig", "metadata") ?? "") })
      return room
    },
    open: (id) => void rooms.set(id, { metadata: "" }),
    isRunning: (id) => rooms.has(id),
    hangUp: (id) =>
      rooms.delete(id) ? webhook({ event: "room_finished", room: { name: id, sid: "RM_fake" } }) : undefined,
    heldUntilExpiry: true,
    webhook,
  }
}
