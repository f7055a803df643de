/**
 * A gate that is told to stop while sessions are being started, over every transport: what the platform answers in time reaches
 * the caller on the caller's own connection, what it does not is told before the gate is gone, and another gate answers for the
 * ticket from then on.
 */
import { once } from "node:events"
import { connect } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { keysOf } from "../../src/fifo-queue/keys.ts"
import { type Bench, type Gate, settingsFor, withBench } from "../harness/gate.ts"
import { type Answer, field, textOf } from "../harness/http.ts"
import { openHub } from "../harness/hub.ts"
import { eventually } from "../harness/process.ts"
import { type RedisServer, startRedis } from "../harness/redis.ts"
import { type FakePlatform, startPlatform } from "../harness/servers.ts"
import { GONE_WITHIN_MILLIS, type Stopped, stopping } from "../harness/stopping.ts"
import { openSocket } from "./support/push.ts"

/** When the platform answers after all: channels have been sent elsewhere by then, and nothing is accepted any more. */
const ANSWERS_AFTER_MILLIS = 3_000

/** A start that is under way at the gate that will stop. */
interface InFlight {
  /** the caller's ticket, where the caller has one */
  readonly ticket: string | undefined
  /** the address that the caller is given on the connection where it waits */
  readonly session: () => Promise<string>
  /** waits until the caller was told that nothing came of it here, and looks at how */
  readonly told: () => Promise<void>
}

interface Scene {
  readonly bench: Bench
  readonly platform: FakePlatform
  readonly redis: RedisServer
  readonly gate: Gate
  readonly next: Gate
}

/** Two gates with one slot on one Redis. */
const sceneOf = async (bench: Bench, queue: Readonly<Record<string, string>> = {}): Promise<Scene> => {
  const platform = bench.own(await startPlatform())
  const redis = bench.own(await startRedis())
  const settings = settingsFor(platform, { StoreConnectionString: redis.url, ...queue })
  const gate = await bench.gate(settings)
  const next = await bench.gate(settings)
  for (const each of [gate, next])
    await eventually("ready", async () => (await each.ask("GET", "/health/ready")).status === 200)
  return { bench, platform, redis, gate, next }
}

/** The answer says where to ask again: this request later, or the ticket that it has. */
const asksAgain = (answer: Answer): void => {
  if (answer.status === 202 || answer.status === 409) return
  assert.strictEqual(answer.status, 503, answer.text)
  assert.oneOf(field(answer, "code"), ["platform_unavailable", "draining"])
  assert.isAtLeast(Number(answer.headers["retry-after"]), 1)
}

/** A ticket that is called when `call` runs; from then on the platform hangs. */
const waitingTicket = async ({ gate, platform }: Scene) => {
  const first = await gate.call()
  assert.strictEqual(first.status, 200)
  const ticket = textOf(await gate.call(), "uniqueRequestId")
  return {
    ticket,
    call: async () => {
      platform.script = () => "hang"
      await gate.sessionEnded(platform.starts[0]?.sessionId ?? "")
    },
  }
}

const underWay = ({ platform }: Scene, starts: number): Promise<void> =>
  eventually("the start is under way", () => platform.starts.length === starts)

/** Puts a start in flight, over each of the transports. */
const transports: Readonly<Record<string, (scene: Scene) => Promise<InFlight>>> = {
  "a request that starts at once": async (scene) => {
    scene.platform.script = () => "hang"
    const answer = scene.gate.call()
    answer.catch(() => {})
    await underWay(scene, 1)
    return {
      ticket: undefined,
      session: async () => textOf(await answer, "webSocketUrl"),
      told: async () => asksAgain(await answer),
    }
  },
  "POST …/start": async (scene) => {
    const { call, ticket } = await waitingTicket(scene)
    await call()
    const answer = scene.gate.ask("POST", `/api/session/${ticket}/start`)
    answer.catch(() => {})
    await underWay(scene, 2)
    return {
      ticket,
      session: async () => textOf(await answer, "webSocketUrl"),
      told: async () => asksAgain(await answer),
    }
  },
  '{type:"start"} over the WebSocket': async (scene) => {
    const { call, ticket } = await waitingTicket(scene)
    const socket = scene.bench.own(await openSocket(scene.gate, ticket))
    await socket.sees("position")
    await call()
    await socket.sees("start_call")
    socket.send({ type: "start" })
    await underWay(scene, 2)
    return {
      ticket,
      session: async () => {
        const { webSocketUrl } = await socket.sees("session")
        // as any open channel
        await socket.sees("reconnect")
        await eventually("its close", socket.closed)
        assert.strictEqual(socket.closeCode(), 1001)
        return String(webSocketUrl)
      },
      told: async () => {
        const { code } = await socket.sees("error")
        assert.oneOf(code, ["platform_unavailable", "agent_unavailable", "agent_busy", "draining"])
        await socket.sees("reconnect")
        await eventually("its close", socket.closed)
        assert.strictEqual(socket.closeCode(), 1001)
      },
    }
  },
  "the hub": async (scene) => {
    const { call, ticket } = await waitingTicket(scene)
    const hub = scene.bench.own(await openHub(scene.gate))
    hub.register(ticket)
    // the gate answers the start call of a registered ticket itself
    await eventually("it is registered", async () => {
      const { json } = await scene.gate.ask("GET", `/api/session/${ticket}`)
      return json.state === "waiting"
    })
    await call()
    await underWay(scene, 2)
    return {
      ticket,
      session: async () => {
        const { argument } = await hub.sees("SessionReady")
        await eventually("its close", hub.closed)
        assert.isTrue(hub.sentElsewhere(), "the stock client does not come back")
        return String(argument.webSocketUrl)
      },
      told: async () => {
        await eventually("its close", hub.closed)
        // a client without an answer reconnects, and is identified by the page's token
        assert.isTrue(hub.sentElsewhere(), "the stock client does not come back")
        assert.isEmpty(hub.invoked.filter(({ target }) => target === "SessionReady"))
      },
    }
  },
}

const inTime = ({ exit, millis }: Stopped): void => {
  assert.deepStrictEqual(exit, { code: 0, signal: null })
  assert.isBelow(millis, GONE_WITHIN_MILLIS)
}

/** Tickets that are being started, by their records. */
const starting = async ({ redis }: Scene): Promise<number> => {
  const [, tickets = ""] = keysOf("business-1/campaign-1")
  const records = (await redis.command("hvals", tickets)).split("\n").filter((record) => record !== "")
  return records.filter((record) => JSON.parse(record).state === "starting").length
}

describe("a gate that is told to stop during the start of a session", () => {
  for (const [transport, begin] of Object.entries(transports)) {
    it.concurrent(
      `finishes a start by ${transport} when the platform answers in time`,
      withBench(async (bench) => {
        const scene = await sceneOf(bench)
        const { gate, next, platform } = scene
        const inFlight = await begin(scene)
        const start = platform.starts.at(-1)
        const stopped = stopping(gate, "SIGTERM")
        await sleep(ANSWERS_AFTER_MILLIS)
        start?.release()
        assert.include(await inFlight.session(), start?.sessionId ?? "none")
        inTime(await stopped)
        if (inFlight.ticket !== undefined) {
          assert.strictEqual((await next.ask("GET", `/api/session/${inFlight.ticket}`)).json.state, "live")
        }
        assert.deepStrictEqual((await next.sessionEnded(start?.sessionId ?? "")).json, { released: true })
      }),
    )

    it.concurrent(
      `is gone in time during a start by ${transport} though the platform hangs, has told the caller, and another gate answers`,
      withBench(async (bench) => {
        const scene = await sceneOf(bench)
        const { gate, next } = scene
        const inFlight = await begin(scene)
        const stopped = await stopping(gate, "SIGTERM")
        inTime(stopped)
        await inFlight.told()
        // its slot is freed now, not at the start's deadline
        assert.strictEqual(await starting(scene), 0)
        const { ticket } = inFlight
        if (ticket === undefined) return
        const page = bench.own(await openSocket(next, ticket))
        await eventually("the other gate's answer", () => page.events.length > 0, 15_000)
      }),
    )
  }

  it.concurrent(
    "finishes the start of a caller who has disconnected",
    withBench(async (bench) => {
      const scene = await sceneOf(bench)
      const { gate, next, platform } = scene
      const { call, ticket } = await waitingTicket(scene)
      const socket = await openSocket(gate, ticket)
      await socket.sees("position")
      await call()
      await socket.sees("start_call")
      socket.send({ type: "start" })
      await underWay(scene, 2)
      await socket.dispose()
      const start = platform.starts.at(-1)
      const stopped = stopping(gate, "SIGTERM")
      await sleep(ANSWERS_AFTER_MILLIS)
      start?.release()
      inTime(await stopped)
      const { webSocketUrl } = await bench.own(await openSocket(next, ticket)).sees("session")
      assert.include(String(webSocketUrl), start?.sessionId ?? "none")
    }),
  )
})

describe("a gate that is told to stop", () => {
  it.concurrent(
    "closes keep-alive connections with their next answer, and accepts no connection after it has stopped accepting",
    withBench(async (bench) => {
      const { gate, platform } = await sceneOf(bench, { VoiceAiPlatform__MaxConcurrency: "2" })
      platform.script = () => "hang"
      const inFlight = gate.call()
      await eventually("the start is under way", () => platform.starts.length === 1)
      // a connection that is open already, on which a request comes to its end only later
      const late = connect({ host: "127.0.0.1", port: Number(new URL(gate.url).port) })
      let said = ""
      late.on("data", (chunk) => {
        said += String(chunk)
      })
      late.write(
        "POST /api/session/request HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{",
      )
      const stopped = stopping(gate, "SIGTERM")
      await eventually("not ready", async () => {
        const { headers, status } = await gate.ask("GET", "/health/ready", { headers: { connection: "keep-alive" } })
        return status === 503 && headers.connection === "close"
      })
      await sleep(2_000)
      late.write("}")
      await once(late, "end")
      assert.match(said, /^HTTP\/1\.1 503 /)
      assert.match(said, /\r\nretry-after: 1\r\n/)
      assert.match(said, /\r\nconnection: close\r\n/)
      assert.include(said, '"code":"draining"')
      assert.lengthOf(platform.starts, 1)
      platform.starts[0]?.release()
      assert.strictEqual((await inFlight).status, 200)
      inTime(await stopped)
    }),
  )

  it.concurrent(
    "exits in time although a command to its Redis never ends",
    withBench(async (bench) => {
      // the time limit of commands (2 s) never passes
      const endless =
        "const of = setTimeout; globalThis.setTimeout = (f, ms, ...a) => of(f, ms === 2000 ? 2 ** 30 : ms, ...a)"
      const options = `--import=data:text/javascript,${encodeURIComponent(endless)}`
      const { gate, redis } = await sceneOf(bench, { NODE_OPTIONS: options })
      redis.kill("SIGSTOP")
      try {
        // the sweep of every second hangs by then
        await sleep(2_000)
        const { exit, millis } = await stopping(gate, "SIGTERM")
        assert.isBelow(millis, GONE_WITHIN_MILLIS)
        assert.deepStrictEqual(exit, { code: 1, signal: null })
        assert.include(gate.output(), "the process exits now")
      } finally {
        redis.kill("SIGCONT")
      }
    }),
  )

  it.concurrent(
    "exits in time although neither the platform nor its Redis answers",
    withBench(async (bench) => {
      const scene = await sceneOf(bench)
      const { gate, redis } = scene
      const { call, ticket } = await waitingTicket(scene)
      await call()
      gate.ask("POST", `/api/session/${ticket}/start`).catch(() => {})
      await underWay(scene, 2)
      redis.kill("SIGSTOP")
      try {
        const { exit, millis } = await stopping(gate, "SIGTERM")
        assert.isBelow(millis, GONE_WITHIN_MILLIS)
        assert.isNull(exit.signal)
      } finally {
        redis.kill("SIGCONT")
      }
    }),
  )
})
