/** Paths and methods that are not served, and a gate that is mounted below a path. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { call, post, rawCall, servedTest, textField } from "../../support/gate-server.ts"
import { REQUEST, WEBHOOK } from "../support.ts"

describe("a path or method that is not served", () => {
  servedTest("is 404 or 405 with what is allowed, and an unknown ticket 404", {}, ({ port, url }) =>
    Effect.gen(function* () {
      const paths = ["/", "/api", "/api/session", "/api/session/x/y/z", "/api/webhook", "/favicon.ico"]
      for (const path of [...paths, "/api/session/%", "/%E0%A4%A"]) {
        const reply = yield* call(url + path)
        expect([path, reply.status, reply.body.code]).toEqual([path, 404, "not_found"])
      }
      for (const [method, path, allowed] of [
        ["GET", REQUEST, "POST"],
        ["PUT", REQUEST, "POST"],
        ["DELETE", REQUEST, "POST"],
        ["OPTIONS", REQUEST, "POST"],
        ["PATCH", "/api/session/some-ticket", "GET, DELETE"],
        ["GET", "/api/session/some-ticket/start", "POST"],
        ["GET", WEBHOOK, "POST"],
        ["POST", "/health/live", "GET"],
      ] as const) {
        const reply = yield* call(url + path, { method })
        expect([method, path, reply.status, reply.headers.get("allow")]).toEqual([method, path, 405, allowed])
      }
      for (const path of ["/api/session/nobody", "/api/session/nobody/events", "/api/session/a%20b"]) {
        const reply = yield* call(url + path)
        expect([path, reply.status, reply.body.code]).toEqual([path, 404, "ticket_unknown"])
      }
      expect((yield* post(`${url}/api/session/nobody/start`)).status).toBe(404)
      expect((yield* call(`${url}/api/session/nobody`, { method: "DELETE" })).status).toBe(204)
      for (const path of ["/api/session/%zz", "/api/session/%zz/events", "/%00", "/..%2f..%2fetc"]) {
        const { status } = yield* rawCall(port, { path })
        expect([path, status]).toEqual([path, 404])
      }
    }),
  )
})

const rooms = {
  VoiceAiPlatform: {
    Campaigns: {
      rooms: {
        Platform: "livekit",
        MaxConcurrency: 1,
        LiveKit: { Url: "wss://livekit.example", ApiKey: "key-of-livekit", ApiSecret: "secret" },
      },
    },
  },
}
servedTest(
  "a vendor's SDK that asks for a session without a tap of the caller takes no slot",
  rooms,
  ({ url, world }) =>
    Effect.gen(function* () {
      for (const path of ["livekit/rooms/token", "pipecat/rooms/start", "retell/rooms/v3/create-web-call"]) {
        const reply = yield* post(`${url}/api/vendors/${path}`, {})
        expect([path, reply.status, reply.body.code]).toEqual([path, 404, "not_found"])
      }
      expect(world.initiated).toEqual([])
    }),
)

servedTest(
  "mounted below a path, the gate serves that path and returns URLs below it",
  {},
  ({ url }) =>
    Effect.gen(function* () {
      expect((yield* post(`${url}/voice${REQUEST}`)).status).toBe(200)
      const queued = yield* post(`${url}/voice${REQUEST}`)
      const ticket = textField(queued, "uniqueRequestId")
      expect(queued.body.eventsUrl).toBe(`/voice/api/session/${ticket}/events`)
      expect((yield* call(`${url}/voice/api/session/${ticket}?x=1`)).body.state).toBe("waiting")
      expect((yield* call(`${url}/voice/health/ready`)).status).toBe(200)
      expect((yield* call(`${url}/voicemail/health/ready`)).status).toBe(404)
    }),
  { basePath: "/voice" },
)
