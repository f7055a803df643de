/** Events of two gates on one Redis, and on one Cluster, of which one is killed while it sends them: none is lost, and those of a ticket stay in order. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { isSignedBy, type Receiver, startReceiver } from "../events/receiver.ts"
import { type Gate, makeBench, SIGNING_SECRET, settingsFor } from "../harness/gate.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startCluster } from "../harness/redis-topologies.ts"
import { type FakePlatform, startPlatform } from "../harness/servers.ts"

const TOKEN = "events-token-0123456789"
const CALLS = 60

interface Read {
  readonly seq: number
  readonly type: string
  readonly ticketHash: string
  readonly sessionId?: string
}

interface Page {
  readonly events: ReadonlyArray<Read>
  readonly next: string
  readonly more: boolean
}

const STORES: ReadonlyArray<
  readonly [name: string, start: () => Promise<{ readonly url: string; readonly dispose: () => Promise<void> }>]
> = [
  ["Redis", startRedis],
  ["a Redis Cluster", startCluster],
]

/** The tests of a store run one after the other, while both stores are tried at once. */
const inOrder = { concurrent: false }

describe.concurrent.each(STORES)("events of two instances on %s", (_name, startStore) => {
  const bench = makeBench()
  afterAll(bench.dispose)
  let platform: FakePlatform
  let receiver: Receiver
  let a: Gate
  let b: Gate

  beforeAll(async () => {
    platform = bench.own(await startPlatform())
    receiver = bench.own(await startReceiver())
    const store = bench.own(await startStore())
    const settings = settingsFor(platform, {
      StoreConnectionString: store.url,
      Security__TrustedProxies__0: "loopback",
      VoiceAiPlatform__MaxConcurrency: "100",
      VoiceAiPlatform__Events__Url: receiver.url,
      VoiceAiPlatform__Events__Secrets__0: SIGNING_SECRET,
      VoiceAiPlatform__Events__Token__0: TOKEN,
    })
    ;[a, b] = await Promise.all([bench.gate(settings), bench.gate(settings)])
  })

  const readAll = async (gate: Gate): Promise<ReadonlyArray<Read>> => {
    const all: Array<Read> = []
    for (let after = ""; ; ) {
      const { json } = await gate.ask("GET", `/api/events?limit=50${after}`, {
        headers: { authorization: `Bearer ${TOKEN}` },
      })
      const page = json as unknown as Page
      all.push(...page.events)
      if (!page.more) return all
      after = `&after=${page.next}`
    }
  }

  it("arrive at least once, in order, although one is killed while it sends", inOrder, async () => {
    receiver.script = async (_event, response) => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      if (!response.writable) return false
      response.writeHead(204).end()
      return true
    }
    for (let i = 0; i < CALLS; i++) {
      const answer = await (i % 2 === 0 ? a : b).call(`198.51.100.${i + 1}`)
      assert.strictEqual(answer.status, 200)
    }
    const ends = platform.starts.map(({ sessionId }, i) => (i % 2 === 0 ? b : a).sessionEnded(sessionId))
    await Promise.all(ends)
    await eventually("some have arrived", () => receiver.taken.length > 10)
    a.kill("SIGKILL")
    await a.exit
    const events = await readAll(b)
    assert.strictEqual(events.length, 3 * CALLS)
    const arrived = () => new Set(receiver.taken.map(({ seq }) => seq))
    await eventually("all have arrived", () => arrived().size === 3 * CALLS, 90_000)
    assert.strictEqual(receiver.mostOfOneTicket(), 1)
    assert.isTrue(receiver.received.every((each) => isSignedBy(each, SIGNING_SECRET)))

    const byTicket = Map.groupBy(events, ({ ticketHash }) => ticketHash)
    assert.strictEqual(byTicket.size, CALLS)
    for (const [ticket, own] of byTicket) {
      assert.deepStrictEqual(
        own.map(({ type }) => type),
        ["call.accepted", "call.started", "call.ended"],
      )
      // what was repeated after the kill counts where it came first
      const firsts = [...new Set(receiver.taken.flatMap(({ seq, ticketHash }) => (ticketHash === ticket ? seq : [])))]
      assert.deepStrictEqual(
        firsts,
        own.map(({ seq }) => seq),
      )
    }
  })

  it("are read with the token of the campaign alone, from a cursor that is known", inOrder, async () => {
    const ask = (path: string, token = TOKEN) =>
      b.ask("GET", `/api/events${path}`, { headers: { authorization: `Bearer ${token}` } })
    assert.deepInclude((await ask("", "wrong-token-0123456789")).json, { code: "events_unauthorized", status: 401 })
    assert.strictEqual((await b.ask("GET", "/api/events")).status, 401)
    assert.strictEqual((await ask("?campaign=other")).status, 401)
    assert.strictEqual((await ask("?after=x")).status, 400)
    assert.strictEqual((await ask("?limit=0")).status, 400)
    assert.deepInclude((await ask("?after=999")).json, { code: "cursor_expired", status: 410, next: "0" })
    const { events, more, next } = (await ask("?after=178&limit=1")).json as unknown as Page
    assert.deepStrictEqual([next, more], ["179", true])
    assert.deepInclude(events[0], { seq: 179, type: "call.ended" })
  })

  it("are counted in the metrics", inOrder, async () => {
    const counted = /voicegate_events_total\{campaign="default",outcome="delivered"\} [1-9]/
    const nothingWaits = /voicegate_events_pending\{campaign="default"\} 0\n/
    await eventually("nothing waits", async () => {
      const { text } = await b.ask("GET", "/metrics")
      return counted.test(text) && nothingWaits.test(text)
    })
  })
})
