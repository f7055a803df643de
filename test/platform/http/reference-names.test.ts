/** The REST API under the names of the reference's public document: filters, and fields of sessions, conversations, pages and usage. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { WebSocket } from "ws"
import { ANSWERS_MILLIS, COMPLETES_MILLIS } from "../../../src/platform/calls/Calls.ts"
import { TOKEN_LIFETIME_MILLIS } from "../../../src/platform/calls/WebSessions.ts"
import { until } from "../support.ts"
import { running } from "./input-support.ts"
import { sessionRequest } from "./rest-client.ts"

const SESSIONS = "business/b1/websession/history"
const CONVERSATIONS = "business/b1/conversations"
const sent = { ...sessionRequest, dynamicVariables: { name: "Ada" }, metadata: { page: "/menu" } }

describe("under the names of the reference's document", () => {
  it.live("a session and its conversation have every field, with our ids", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      const { data: started } = yield* call(keys.all, "POST", "business/b1/websession/initiate", sent)
      const { conversationSessionId, sessionId, sessionWebSocketURL, webSessionId } = started
      assert.strictEqual(sessionId, webSessionId)
      const session = call(keys.all, "POST", `${SESSIONS}/${webSessionId}`)
      const unopened = {
        queueId: webSessionId,
        status: 3,
        clientIdentifier: "me",
        webCampaignId: "c1",
        dynamicVariables: { name: "Ada" },
        metadata: { page: "/menu" },
        processingStartedAt: null,
        completedAt: null,
        sessionId: null,
        sessionStatus: null,
        sessionEndType: null,
      }
      assert.deepInclude((yield* session).data, unopened)
      let frames = 0
      const socket = new WebSocket(sessionWebSocketURL)
      socket.on("message", (_, binary) => {
        if (!binary) frames++
      })
      yield* until(() => frames === 1)
      const open = { ...unopened, sessionId: conversationSessionId, sessionStatus: 3 }
      assert.deepInclude((yield* session).data, open)
      socket.send("Hi")
      yield* until(() => frames === 2)
      socket.close()
      const { data: over } = yield* session.pipe(Effect.repeat({ until: ({ data }) => data.completedAt !== null }))
      assert.deepInclude(over, { ...open, sessionStatus: 6, completedAt: over.endedAt })

      const { data: found } = yield* call(keys.all, "GET", `${CONVERSATIONS}/${conversationSessionId}`)
      const party = { joinedAt: found.startedAt, leftAt: found.endedAt, leaveReason: null, audioUrl: null }
      const shown = {
        id: conversationSessionId,
        queueId: webSessionId,
        status: 6,
        startTime: found.startedAt,
        endTime: over.completedAt,
        endType: 0,
        clients: [{ clientId: "caller", clientType: 2, ...party }],
        agents: [{ agentId: "agent", agentType: 1, ...party }],
        logs: [],
      }
      assert.deepInclude(found, shown)
      assert.deepStrictEqual(
        found.messages,
        found.turns.map(({ at, role, text }: { at: string; role: string; text: string }) => ({
          senderId: role,
          role: role === "agent" ? 2 : 1,
          content: text,
          timestamp: at,
        })),
      )
      assert.deepInclude(found.messages[1], { senderId: "caller", role: 1, content: "Hi" })
      const { data: listed } = yield* call(keys.all, "POST", CONVERSATIONS, {})
      assert.deepInclude(listed.items[0], shown)
    }),
  )

  it.effect("what a site said of its visitor is shown to keys with `read` only", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      const { data } = yield* call(keys.gate, "POST", "business/b1/websession/initiate", sent)
      for (const path of [
        SESSIONS,
        `${SESSIONS}/${data.webSessionId}`,
        `business/b1/websession/${data.webSessionId}/end`,
      ]) {
        const answer = yield* call(keys.gate, "POST", path, {})
        assert.strictEqual(answer.status, 200)
        assert.include(JSON.stringify(answer.data), data.webSessionId)
        assert.notMatch(JSON.stringify(answer.data), /Ada|menu/)
      }
      const { data: page } = yield* call(keys.all, "POST", SESSIONS, {})
      assert.deepInclude(page.items[0], { dynamicVariables: sent.dynamicVariables, metadata: sent.metadata })
    }),
  )

  it.effect("sessions are filtered, listed in pages with totals, and counted", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      const start = (clientIdentifier: string) =>
        Effect.map(
          call(keys.all, "POST", "business/b1/websession/initiate", { ...sent, clientIdentifier }),
          ({ data }): string => data.webSessionId,
        )
      const first = yield* start("me")
      yield* TestClock.setTime(1_000)
      yield* call(keys.all, "POST", `business/b1/websession/${first}/end`)
      yield* TestClock.setTime(2_000)
      const second = yield* start("you")
      yield* TestClock.setTime(2_500)
      const third = yield* start("them")
      const at = (millis: number) => new Date(millis).toISOString()
      for (const [filter, expected] of [
        [{}, [third, second, first]],
        [{ startCreatedDate: at(2_000) }, [third, second]],
        [{ endCreatedDate: at(2_000) }, [second, first]],
        [{ startCreatedDate: at(1), endCreatedDate: at(2_000) }, [second]],
        [{ startCreatedDate: at(0), from: at(2_000), endCreatedDate: at(2_500), to: at(2_500) }, [second]],
        [{ startCompletedAtDate: at(1_000), endCompletedAtDate: at(1_000) }, [first]],
        [{ startCompletedAtDate: at(1_001) }, []],
        [{ endCompletedAtDate: at(999) }, []],
        [{ queueStatusTypes: [3] }, [third, second, first]],
        [{ queueStatusTypes: [4, 5, 6] }, []],
        [{ webCampaignIds: ["c1", "c2"] }, [third, second, first]],
        [{ webCampaignIds: ["c2"] }, []],
        [{ clientIdentifiers: ["me", "them"] }, [third, first]],
        [{ clientIdentifiers: ["me", "them"], clientIdentifier: "me" }, [first]],
        [{ clientIdentifiers: [], webCampaignIds: null, startCreatedDate: null }, [third, second, first]],
      ] as const) {
        const { data, status } = yield* call(keys.all, "POST", SESSIONS, { filter })
        const said = JSON.stringify(filter)
        assert.strictEqual(status, 200, said)
        assert.deepStrictEqual(
          data.items.map(({ queueId }: { queueId: string }) => queueId),
          [...expected],
          said,
        )
        assert.strictEqual(data.totalCount, expected.length, said)
        const body = { limit: 1, nextCursor: null, previousCursor: null, filter }
        const counted = yield* call(keys.all, "POST", "business/b1/websession/count", body)
        assert.strictEqual(counted.data, expected.length, said)
      }
      const totals = { pageSize: 2, totalCount: 3 }
      const { data: page } = yield* call(keys.all, "POST", SESSIONS, { limit: 2 })
      assert.deepInclude(page, { ...totals, hasNextPage: true, hasPreviousPage: false })
      const { data: last } = yield* call(keys.all, "POST", SESSIONS, { limit: 2, nextCursor: page.nextCursor })
      assert.deepInclude(last, { ...totals, hasNextPage: false, hasPreviousPage: true })
    }),
  )

  it.effect("a session that nobody opened is expired and has no conversation", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      const { data } = yield* call(keys.all, "POST", "business/b1/websession/initiate", sent)
      yield* TestClock.adjust(TOKEN_LIFETIME_MILLIS)
      const session = yield* TestClock.adjust("1 second").pipe(
        Effect.andThen(call(keys.all, "POST", `${SESSIONS}/${data.webSessionId}`)),
        Effect.repeat({ until: (answer) => answer.data.completedAt !== null }),
      )
      assert.deepInclude(session.data, { status: 6, sessionId: null, sessionStatus: null })
      assert.strictEqual(
        (yield* call(keys.all, "POST", SESSIONS, { filter: { queueStatusTypes: [6] } })).data.totalCount,
        1,
      )
    }),
  )

  it.effect("conversations are filtered, and listed in pages with totals", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      yield* call(keys.all, "POST", "business/b1/call/initiate", { toNumber: "+15550100", regionId: "eu" })
      const found = Effect.fnUntraced(function* (filter: object) {
        const { data } = yield* call(keys.all, "POST", CONVERSATIONS, { filter })
        assert.lengthOf(data.items, data.totalCount)
        return data.totalCount
      })
      yield* TestClock.setTime(ANSWERS_MILLIS)
      const { data } = yield* call(keys.all, "POST", CONVERSATIONS, {})
      assert.deepInclude(data, { hasNextPage: false, hasPreviousPage: false, pageSize: 20, totalCount: 1 })
      const [{ agents, clients, endTime, endType, startTime, status }] = data.items
      assert.deepStrictEqual([status, endTime, endType], [3, null, 0])
      assert.deepInclude(clients[0], { clientType: 1, joinedAt: startTime, leftAt: null })
      assert.deepInclude(agents[0], { agentId: "agent", leftAt: null })
      assert.strictEqual(yield* found({ sessionStates: [3] }), 1)
      assert.strictEqual(yield* found({ sessionStates: [6] }), 0)
      yield* TestClock.setTime(COMPLETES_MILLIS)
      for (const [filter, expected] of [
        [{ sessionStates: [3] }, 0],
        [{ sessionStates: [6] }, 1],
        [{ sessionStates: [3, 6] }, 1],
        [{ sessionStates: [0, 7] }, 0],
        [{ sessionStates: [] }, 1],
        [{ sessionInitiationTypes: [0] }, 1],
        [{ sessionInitiationTypes: [1] }, 0],
        [{ sessionInitiationTypes: [0, 1] }, 1],
        [{ sessionEndTypes: [0, 5] }, 1],
        [{ sessionEndTypes: [5] }, 0],
        [{ startStartedDate: startTime, endStartedDate: startTime }, 1],
        [{ endStartedDate: new Date(ANSWERS_MILLIS - 1).toISOString() }, 0],
        [{ startStartedDate: new Date(ANSWERS_MILLIS + 1).toISOString() }, 0],
      ] as const) {
        assert.strictEqual(yield* found(filter), expected, JSON.stringify(filter))
      }
    }),
  )

  it.effect("the usage of the account has every field", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      yield* call(keys.all, "POST", "business/b1/websession/initiate", sent)
      assert.deepStrictEqual((yield* call(keys.users, "GET", "user/billing/usage")).data, {
        creditBalance: 0,
        currentUsage: { Call_Concurrency: 1 },
        cycleLastResetAt: "1970-01-01T00:00:00.000Z",
      })
    }),
  )

  it.effect("what the document does not allow is refused with the filter's name", () =>
    Effect.gen(function* () {
      const { call, keys } = yield* running()
      for (const [path, filter, field] of [
        [SESSIONS, { queueStatusTypes: [7] }, "filter.queueStatusTypes.0: "],
        [SESSIONS, { clientIdentifiers: ["a/b"] }, "filter.clientIdentifiers.0: "],
        [SESSIONS, { webCampaignIds: "c1" }, "filter.webCampaignIds: "],
        [SESSIONS, { webCampaignIds: Array.from({ length: 101 }, () => "c1") }, "filter.webCampaignIds: "],
        [SESSIONS, { endCompletedAtDate: "tomorrow" }, "filter.endCompletedAtDate: "],
        [SESSIONS, { sessionStates: [3] }, "filter.sessionStates: unknown field"],
        [CONVERSATIONS, { sessionStates: [8] }, "filter.sessionStates.0: "],
        [CONVERSATIONS, { sessionInitiationTypes: [2] }, "filter.sessionInitiationTypes.0: "],
        [CONVERSATIONS, { sessionEndTypes: [11] }, "filter.sessionEndTypes.0: "],
        [CONVERSATIONS, { sessionEndType: [0] }, "filter.sessionEndType: unknown field, did you mean sessionEndTypes?"],
      ] as const) {
        const { message, status } = yield* call(keys.all, "POST", path, { filter })
        assert.strictEqual(status, 400, field)
        assert.isTrue(message?.startsWith(field), `${message} instead of ${field}`)
      }
    }),
  )
})
