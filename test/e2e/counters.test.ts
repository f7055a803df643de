/**
 * The counters of the dashboard are counted where things happen: with callers whose request, connection, start, leave and webhook each
 * reach another gate of two, or any process of several, the sum of all is what the callers and the platform saw.
 */
import { assert, describe, it } from "@effect/vitest"
import { type Bench, type Gate, settingsFor, withBench } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { AT_FULL_SIZE } from "../harness/long-run.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { type FakePlatform, startPlatform } from "../harness/servers.ts"
import { openSocket } from "./support/push.ts"

/** At least two of each kind that neither talks nor misses anything else. */
const CALLERS = AT_FULL_SIZE ? 200 : 80
const SLOTS = 10
/** A machine that stands still is an outage, after which callers get their time anew. */
const SLOW_MILLIS = 120_000

/** Documentation addresses (RFC 5737), which are never looked up. */
const addressOf = (caller: number): string => `198.51.100.${caller % 250}`

/** What a caller does once it waits. */
type Kind =
  | "leaves while waiting"
  | "closes its page"
  | "leaves when called"
  | "does not start"
  | "starts over HTTP"
  | "starts over its socket"

const kindOf = (caller: number): Kind => {
  if (caller % 40 === 11) return "leaves while waiting"
  if (caller % 40 === 12) return "closes its page"
  if (caller % 40 === 13) return "leaves when called"
  if (caller % 40 === 14) return "does not start"
  return caller % 2 === 0 ? "starts over HTTP" : "starts over its socket"
}

/** The sum of all samples of a metric that have these labels, over all gates. */
const sumOf = (texts: ReadonlyArray<string>, name: string, labels: Readonly<Record<string, string>> = {}): number =>
  texts
    .flatMap((text) => text.split("\n"))
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0)

const play = async (
  bench: Bench,
  platform: FakePlatform,
  gates: ReadonlyArray<Gate>,
  metricsOf: ReadonlyArray<Gate>,
): Promise<void> => {
  let turn = 0
  /** another gate each time, as behind a load balancer */
  const pick = (): Gate => {
    const gate = gates[turn++ % gates.length]
    assert.isDefined(gate)
    return gate
  }
  let ended = 0
  const end = async (sessionId: string) => {
    assert.deepStrictEqual((await pick().sessionEnded(sessionId)).json, { released: true })
    ended++
  }
  const done: Record<Kind, number> = {
    "leaves while waiting": 0,
    "closes its page": 0,
    "leaves when called": 0,
    "does not start": 0,
    "starts over HTTP": 0,
    "starts over its socket": 0,
  }
  const answers = await Promise.all(
    Array.from({ length: CALLERS }, async (_, caller) => ({ caller, answer: await pick().call(addressOf(caller)) })),
  )
  const waiting = answers.filter(({ answer }) => answer.status === 202)
  assert.lengthOf(waiting, CALLERS - SLOTS)
  const sockets = await Promise.all(
    waiting.map(async ({ answer, caller }) => {
      const ticket = textOf(answer, "uniqueRequestId")
      const socket = bench.own(await openSocket(pick(), ticket, { "x-forwarded-for": addressOf(caller) }))
      return { kind: kindOf(caller), socket, ticket }
    }),
  )
  for (const { kind, socket, ticket } of sockets) {
    if (kind === "leaves while waiting")
      assert.strictEqual((await pick().ask("DELETE", `/api/session/${ticket}`)).status, 204)
    else if (kind === "closes its page") await socket.dispose()
    else continue
    done[kind]++
  }
  const scraped = () => Promise.all(metricsOf.map(async (gate) => (await gate.ask("GET", "/metrics")).text))
  await eventually(
    "those who closed their pages are absent",
    async () => {
      const gone = done["leaves while waiting"] + done["closes its page"]
      return sumOf(await scraped(), "voicegate_over_total") === gone
    },
    SLOW_MILLIS,
  )
  const calls = sockets
    .filter(({ kind }) => kind !== "leaves while waiting" && kind !== "closes its page")
    .map(async ({ kind, socket, ticket }) => {
      await eventually("is called", () => socket.count("start_call") > 0, SLOW_MILLIS)
      if (kind === "leaves when called") {
        assert.strictEqual((await pick().ask("DELETE", `/api/session/${ticket}`)).status, 204)
      } else if (kind === "does not start") {
        await eventually("misses its turn", () => socket.count("ended") > 0, SLOW_MILLIS)
      } else if (kind === "starts over HTTP") {
        const answer = await pick().ask("POST", `/api/session/${ticket}/start`)
        assert.strictEqual(answer.status, 200)
        await end(textOf(answer, "sessionId"))
      } else {
        socket.send({ type: "start" })
        await end(String((await socket.sees("session")).sessionId))
      }
      done[kind]++
    })
  await Promise.all(
    answers.filter(({ answer }) => answer.status === 200).map(({ answer }) => end(textOf(answer, "sessionId"))),
  )
  await Promise.all(calls)
  const [first = ""] = platform.starts.map(({ sessionId }) => sessionId)
  assert.deepStrictEqual((await pick().sessionEnded(first)).json, { released: false })
  assert.deepStrictEqual((await pick().sessionEnded("never-started")).json, { released: false })
  assert.strictEqual((await pick().call("198.51.100.251", { campaignId: "no such campaign" })).status, 400)

  const called =
    done["leaves when called"] + done["does not start"] + done["starts over HTTP"] + done["starts over its socket"]
  const startedByCall = done["starts over HTTP"] + done["starts over its socket"]
  assert.strictEqual(ended, SLOTS + startedByCall)
  const expected = {
    "requests started": SLOTS,
    "requests queued": CALLERS - SLOTS,
    "requests invalid": 1,
    "refused invalid": 1,
    called,
    "over ended": ended,
    "over left": done["leaves while waiting"] + done["leaves when called"],
    "over missed": done["does not start"],
    "over abandoned": done["closes its page"],
    over: CALLERS,
    "webhooks released": ended,
    "webhooks repeat": 1,
    "webhooks unknown": 1,
    waits: startedByCall,
    "start calls to starts": startedByCall,
    "requests to the platform": platform.starts.length,
    waiting: 0,
    leases: 0,
    connected: 0,
  }
  const counted = async (): Promise<typeof expected> => {
    const texts = await scraped()
    const sum = (name: string, labels?: Readonly<Record<string, string>>) => sumOf(texts, `voicegate_${name}`, labels)
    return {
      "requests started": sum("requests_total", { outcome: "started" }),
      "requests queued": sum("requests_total", { outcome: "queued" }),
      "requests invalid": sum("requests_total", { outcome: "invalid" }),
      "refused invalid": sum("refused_total", { reason: "invalid" }),
      called: sum("called_total"),
      "over ended": sum("over_total", { state: "ended" }),
      "over left": sum("over_total", { state: "left" }),
      "over missed": sum("over_total", { state: "missed" }),
      "over abandoned": sum("over_total", { state: "abandoned" }),
      over: sum("over_total"),
      "webhooks released": sum("webhooks_total", { result: "released" }),
      "webhooks repeat": sum("webhooks_total", { result: "repeat" }),
      "webhooks unknown": sum("webhooks_total", { result: "unknown" }),
      waits: sum("wait_seconds_count"),
      "start calls to starts": sum("start_call_seconds_count"),
      "requests to the platform": sum("platform_request_seconds_count", { kind: "start" }),
      waiting: sum("waiting"),
      leases: sum("leases"),
      connected: sum("connected_tickets"),
    }
  }
  for (const { socket } of sockets) await socket.dispose()
  await eventually(
    "every counter is what happened",
    async () => {
      assert.deepStrictEqual(await counted(), expected)
      return true
    },
    SLOW_MILLIS,
  )
  // nothing is counted late, or twice
  await eventually("the sweeps of two seconds", async () => (await counted()).waiting === 0)
  assert.deepStrictEqual(await counted(), expected)
}

const settings = (platform: FakePlatform, redis: { readonly url: string }) =>
  settingsFor(platform, {
    StoreConnectionString: redis.url,
    Security__TrustedProxies__0: "loopback",
    VoiceAiPlatform__MaxConcurrency: String(SLOTS),
    Queue__StartWindowSeconds: "6",
    // on a busy machine, a second may pass between a caller's ticket and the connection that holds it
    Queue__DisconnectGraceSeconds: "8",
  })

// both mostly wait
describe.concurrent("counters of several gates", { timeout: 300_000 }, () => {
  it(
    `counters of two instances add up to what ${CALLERS} callers and the platform saw, whichever instance each part reached`,
    withBench(async (bench) => {
      const platform = bench.own(await startPlatform())
      const given = settings(platform, bench.own(await startRedis()))
      const gates = await Promise.all([bench.gate(given), bench.gate(given)])
      await play(bench, platform, gates, gates)
    }),
  )

  it(
    `counters of one gate with --processes 3 add up to what ${CALLERS} callers and the platform saw`,
    withBench(async (bench) => {
      const platform = bench.own(await startPlatform())
      const given = settings(platform, bench.own(await startRedis()))
      const gate = await bench.gate(given, ["--processes", "3"])
      await eventually("all listen", () => gate.output().split("listens at").length === 4)
      await play(bench, platform, [gate], [gate])
    }),
  )
})
