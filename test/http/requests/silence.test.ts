/** A page reports the silence of its call: over its events' WebSocket, or by a request. */
import { describe, expect } from "@effect/vitest"
import { Effect } from "effect"
import { begin } from "../../support/gate.ts"
import { call, post, servedTest, webSocket } from "../../support/gate-server.ts"
import { eventsOf, has } from "../push/support.ts"

const limited = { VoiceAiPlatform: { SilenceSeconds: 30 } }
const report = (seconds: unknown): string => JSON.stringify({ type: "silence", seconds })
const silenceOf = (url: string, ticket: string): string => `${url}/api/session/${ticket}/silence`

describe.concurrent("a page in a call", () => {
  servedTest("is told the limit with its session, and when the call ends with each silence", limited, ({ url }) =>
    Effect.gen(function* () {
      const started = yield* post(`${url}/api/session/request`)
      expect(started.body).toMatchObject({ status: "started", silenceSeconds: 30 })
      const ticket = String(started.body.uniqueRequestId)
      const socket = yield* webSocket(eventsOf(url, ticket))
      yield* socket.waitFor("the session", has("session"))
      expect(socket.events.at(-1)).toMatchObject({ type: "session", silenceSeconds: 30 })
      socket.send(report(20))
      yield* socket.waitFor("the warning", has("warning"))
      const warning = socket.events.at(-1)
      expect(warning).toMatchObject({ type: "warning", reason: "silence", endsAt: expect.any(String) })
      // said again, the same is answered again
      socket.send(report(20))
      yield* socket.waitFor("the warning again", (events) => events.filter(({ type }) => type === "warning").length > 1)
      expect((yield* call(`${url}/api/session/${ticket}`)).body).toMatchObject({
        state: "live",
        silenceSeconds: 30,
        warning: { reason: "silence" },
      })
      socket.send(report(0))
      yield* Effect.promise(async () => {
        while ((await (await fetch(`${url}/api/session/${ticket}`)).text()).includes("warning"));
      })
    }),
  )

  servedTest("may report by requests instead, from any gate", limited, ({ url }) =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      const silent = yield* post(silenceOf(url, uniqueRequestId), { seconds: 20 })
      expect(silent.status).toBe(200)
      expect(Date.parse(String(silent.body.endsAt))).toBeGreaterThan(0)
      expect((yield* post(silenceOf(url, uniqueRequestId), { seconds: 0 })).body).toEqual({ endsAt: null })
    }),
  )

  servedTest("is told which field of a report is wrong, and nothing is noted", limited, ({ url }) =>
    Effect.gen(function* () {
      const { uniqueRequestId } = yield* begin()
      for (const seconds of [-1, 86_401, "20", null, undefined]) {
        const refused = yield* post(silenceOf(url, uniqueRequestId), { seconds })
        expect(refused.status).toBe(400)
        expect(refused.body).toMatchObject({ code: "invalid_request", errors: [{ field: "seconds" }] })
      }
      expect((yield* post(silenceOf(url, "x".repeat(26)), { seconds: 5 })).body).toMatchObject({
        code: "ticket_unknown",
      })
      const socket = yield* webSocket(eventsOf(url, uniqueRequestId))
      socket.send(report("20"))
      yield* socket.waitFor("the refusal", has("error"))
      expect(socket.events.at(-1)).toMatchObject({
        code: "invalid_message",
        message: expect.stringContaining("seconds"),
      })
      expect((yield* call(`${url}/api/session/${uniqueRequestId}`)).body).not.toHaveProperty("warning")
    }),
  )

  servedTest("a page in a call whose campaign has no limit is not asked to report", {}, ({ url }) =>
    Effect.gen(function* () {
      const started = yield* post(`${url}/api/session/request`)
      expect(started.body).not.toHaveProperty("silenceSeconds")
    }),
  )
})
