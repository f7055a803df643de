/** One slot and four callers, from the first request to the second call, however they follow their place. */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { type Bench, type Gate, makeBench, PLATFORM_KEY, settingsFor, withBench } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startPlatform } from "../harness/servers.ts"
import { type Listener, openEvents, openSocket } from "./support/push.ts"

/** How a waiting caller learns of its turn. */
interface Follower {
  readonly atPosition: (position: number) => Promise<void>
  readonly called: () => Promise<void>
  /** whether it was told to start, so far */
  readonly wasCalled: () => Promise<boolean>
}

const byPush = (listener: Listener): Follower => ({
  atPosition: async (position) => {
    await listener.sees("position", { position })
  },
  called: async () => {
    const { startBefore } = await listener.sees("start_call")
    assert.isAbove(Date.parse(String(startBefore)), Date.now())
  },
  wasCalled: async () => listener.count("start_call") > 0,
})

const byPolling = (gate: Gate, ticket: string): Follower => {
  const status = async () => (await gate.ask("GET", `/api/session/${ticket}`)).json
  return {
    atPosition: (position) =>
      eventually(`position ${position}`, async () => {
        const { queuePosition, state } = await status()
        return state === "waiting" && queuePosition === position
      }),
    called: () => eventually("the call", async () => (await status()).state === "called"),
    wasCalled: async () => (await status()).state === "called",
  }
}

const ways: ReadonlyArray<readonly [string, (bench: Bench, gate: Gate, ticket: string) => Promise<Follower>]> = [
  ["a WebSocket", async (bench, gate, ticket) => byPush(bench.own(await openSocket(gate, ticket)))],
  ["Server-Sent Events", async (bench, gate, ticket) => byPush(bench.own(await openEvents(gate, ticket)))],
  ["polling", async (_, gate, ticket) => byPolling(gate, ticket)],
]

describe("one slot and four callers", () => {
  for (const [way, follow] of ways) {
    it.concurrent(
      `calls the first in line, and nobody else, when the session ends: by ${way}`,
      withBench(async (bench) => {
        const platform = bench.own(await startPlatform())
        const gate = await bench.gate(settingsFor(platform))

        const first = await gate.call()
        assert.strictEqual(first.status, 200)
        assert.strictEqual(first.json.status, "started")
        assert.match(textOf(first, "webSocketUrl"), /^ws:/)

        const tickets: Array<string> = []
        for (const position of [1, 2, 3]) {
          const answer = await gate.call()
          assert.strictEqual(answer.status, 202)
          assert.strictEqual(answer.json.queuePosition, position)
          const ticket = textOf(answer, "uniqueRequestId")
          assert.strictEqual(answer.json.eventsUrl, `/api/session/${ticket}/events`)
          tickets.push(ticket)
        }
        const [one = "", two = "", three = ""] = tickets
        const followers = await Promise.all(tickets.map((ticket) => follow(bench, gate, ticket)))
        const [a, b, c] = followers
        if (a === undefined || b === undefined || c === undefined) throw new Error("there are three followers")
        await Promise.all(followers.map((follower, index) => follower.atPosition(index + 1)))

        const early = await gate.ask("POST", `/api/session/${one}/start`)
        assert.strictEqual(early.status, 409)
        assert.strictEqual(early.json.code, "not_your_turn")

        const ended = platform.starts[0]?.sessionId ?? ""
        const webhook = await gate.sessionEnded(ended)
        assert.deepStrictEqual([webhook.status, webhook.json], [200, { released: true }])
        await a.called()
        await b.atPosition(1)
        await c.atPosition(2)
        assert.deepStrictEqual([await b.wasCalled(), await c.wasCalled()], [false, false])

        const started = await gate.ask("POST", `/api/session/${one}/start`)
        assert.strictEqual(started.status, 200)
        assert.match(textOf(started, "webSocketUrl"), /conversation-2/)
        const repeatedStart = await gate.ask("POST", `/api/session/${one}/start`)
        assert.strictEqual(textOf(repeatedStart, "webSocketUrl"), textOf(started, "webSocketUrl"))
        assert.strictEqual(platform.starts.length, 2)

        const repeat = await gate.sessionEnded(ended)
        assert.deepStrictEqual([repeat.status, repeat.json], [200, { released: false }])
        for (const [index, ticket] of [two, three].entries()) {
          const { json } = await gate.ask("GET", `/api/session/${ticket}`)
          assert.deepStrictEqual([json.state, json.queuePosition], ["waiting", index + 1])
        }
        assert.deepStrictEqual([await b.wasCalled(), await c.wasCalled()], [false, false])
      }),
    )
  }
})

describe("the socket of a waiting caller", () => {
  const bench = makeBench()
  afterAll(bench.dispose)

  it("accepts start and leave, refuses anything else, and is closed when its ticket is over", async () => {
    const platform = bench.own(await startPlatform())
    const gate = await bench.gate(settingsFor(platform))
    await gate.call()
    const waiting = textOf(await gate.call(), "uniqueRequestId")
    const leaving = textOf(await gate.call(), "uniqueRequestId")
    const [socket, other] = await Promise.all([openSocket(gate, waiting), openSocket(gate, leaving)])
    bench.own(socket)
    bench.own(other)

    socket.send({ type: "dance" })
    await socket.sees("error", { code: "invalid_message" })
    socket.send({ type: "start" })
    await socket.sees("error", { code: "not_your_turn" })

    other.send({ type: "leave" })
    await other.sees("ended", { reason: "left" })
    await eventually("the close", () => other.closeCode() === 1000)
    assert.strictEqual((await gate.ask("GET", `/api/session/${leaving}`)).json.state, "left")

    await gate.sessionEnded("conversation-1")
    await socket.sees("start_call")
    socket.send({ type: "start" })
    assert.match(String((await socket.sees("session")).webSocketUrl), /conversation-2/)

    await gate.sessionEnded("conversation-2")
    await socket.sees("ended", { reason: "ended" })
    await eventually("the close", () => socket.closeCode() === 1000)
  })

  it("sends the platform what the caller asked for, with the key that the caller never sees", async () => {
    const platform = bench.own(await startPlatform())
    const gate = await bench.gate(settingsFor(platform))
    await gate.call(undefined, {
      clientIdentifier: "shop-42",
      regionId: "eu",
      dynamicVariables: { name: "Ada" },
      metadata: { page: "/cart" },
      audioConfiguration: { inputSampleRate: 48000 },
    })
    const [start] = platform.starts
    assert.strictEqual(start?.path, "/api/v1/business/business-1/websession/initiate")
    assert.strictEqual(start?.authorization, `Token ${PLATFORM_KEY}`)
    assert.deepInclude(start?.body, {
      webCampaignId: "campaign-1",
      regionId: "eu",
      transportType: 0,
      clientIdentifier: "shop-42",
      dynamicVariables: { name: "Ada" },
      metadata: { page: "/cart" },
    })
    assert.deepInclude(start?.body.audioInputConfiguration, { sampleRate: 48000, bitsPerSample: 16 })
  })
})
