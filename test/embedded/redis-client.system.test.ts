/** A gate on the Redis of the host's own client of ioredis: a single server, a Cluster, and a master behind Sentinels. */
import { Cluster, Redis } from "ioredis"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { createGate, type Gate, type GateSettings, type RedisClient } from "../../src/index.ts"
import { eventually } from "../harness/process.ts"
import { type RedisServer, startRedis } from "../harness/redis.ts"
import { startCluster, startSentinel } from "../harness/redis-topologies.ts"
import { rejection, settingsFor, useGates } from "./support.ts"

const gates = useGates()
const here = { address: "203.0.113.1" }
const there = { address: "203.0.113.2" }

const create = async (redis: RedisClient, more: Partial<GateSettings> = {}) => {
  const log: Array<string> = []
  const settings = { ...settingsFor(gates.platform, { RateLimitConcurrency: 1 }), ...more }
  const gate = gates.own(await createGate(settings, { log: ({ message }) => void log.push(message), redis }))
  await eventually("the gate is ready", async () => (await gate.ready()).status === "ready")
  return { gate, log }
}

/** One caller talks, the other waits at `first` and hears through `second` that the slot is free. Returns the ticket. */
const fullCall = async (first: Gate, second: Gate): Promise<string> => {
  const started = await first.request({}, here)
  assert.strictEqual(started.status, "started")
  const queued = await first.request({}, there)
  if (queued.status !== "queued") throw new Error(`expected a place, found ${queued.status}`)
  const ticket = queued.uniqueRequestId
  const heard: Array<string> = []
  const listening = (async () => {
    for await (const event of second.events(ticket)) {
      heard.push(event.type)
      if (event.type === "start_call") break
    }
  })()
  await eventually("the first event", () => heard.length > 0)
  const ended = await first.sessionEnded(`session-${gates.platform.starts.length}`)
  assert.deepEqual(ended, { status: "accepted", released: true })
  await listening
  const result = await second.start(ticket)
  assert.strictEqual(result.status, "started")
  return ticket
}

describe("a gate on the Redis of the host's client", () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis({ password: "of-the-server" })
  })
  afterAll(() => server.dispose())
  const clientOf = (keyPrefix = ""): Redis =>
    new Redis({ host: server.host, port: server.port, password: "of-the-server", keyPrefix })

  it("serves calls with the client's prefix, and leaves the client open and unchanged", async () => {
    const client = clientOf("app:")
    try {
      await client.set("mine", "1")
      const options = JSON.stringify(client.options)
      const [first, second] = [await create(client), await create(client)]
      await fullCall(first.gate, second.gate)
      const keys = (await server.command("keys", "*")).split("\n")
      assert.deepStrictEqual(
        keys.filter((key) => !key.startsWith("app:")),
        [],
      )
      assert.isAbove(keys.length, 1)
      await first.gate.close()
      await second.gate.close()
      assert.strictEqual(client.status, "ready")
      assert.strictEqual(client.mode, "normal")
      assert.strictEqual(JSON.stringify(client.options), options)
      assert.strictEqual(await client.get("mine"), "1")
    } finally {
      client.disconnect()
      await server.command("flushall")
    }
  })

  it("shares nothing with a gate of another prefix on the same database", async () => {
    const [one, two] = [clientOf("one:"), clientOf("two:")]
    try {
      const [first, second] = [await create(one), await create(two)]
      // each has the campaign's only slot, and the caller's only call
      assert.strictEqual((await first.gate.request({}, here)).status, "started")
      assert.strictEqual((await second.gate.request({}, here)).status, "started")
      const queued = await first.gate.request({}, there)
      if (queued.status !== "queued") throw new Error(`expected a place, found ${queued.status}`)
      const ticket = queued.uniqueRequestId
      const elsewhere = await second.gate.status(ticket)
      assert.strictEqual(elsewhere.status, "refused")
      // no channel is shared either, so that nothing of one gate wakes the other
      const channels = (await server.command("pubsub", "channels", "*")).split("\n")
      assert.deepStrictEqual(
        channels.filter((channel) => !/^(one|two):vg:/.test(channel)),
        [],
      )
      const [of1, of2] = await Promise.all([first, second].map(({ gate }) => gate.operator.view()))
      if (of1?.status !== "found" || of2?.status !== "found") throw new Error("expected both views")
      assert.strictEqual(of1.view.queue?.waitingPage.length, 1)
      assert.strictEqual(of2.view.queue?.waitingPage.length, 0)
    } finally {
      one.disconnect()
      two.disconnect()
      await server.command("flushall")
    }
  })

  it("does not use StoreConnectionString, and says so", async () => {
    const client = clientOf()
    try {
      const { log } = await create(client, { StoreConnectionString: "redis://nowhere.invalid" })
      assert.include(log.join("\n"), "StoreConnectionString: not used, because the host application has its own store.")
    } finally {
      client.disconnect()
    }
  })

  it("refuses a client that it cannot follow, and both a client and a store", async () => {
    const client = new Redis({ lazyConnect: true, path: "/run/redis.sock" })
    const refusal = await rejection(gates.create({}, { redis: client }))
    assert.instanceOf(refusal, TypeError)
    assert.match(refusal.message, /^options\.redis: Expected no path: /)
    const store = {
      run: () => Promise.reject(new Error()),
      get: () => Promise.resolve(undefined),
      set: () => Promise.resolve(),
      publish: () => Promise.resolve(),
      subscribe: () => Promise.resolve(() => {}),
      ping: () => Promise.resolve(),
    }
    const both = await rejection(gates.create({}, { redis: client, store }))
    assert.instanceOf(both, TypeError)
    assert.strictEqual(both.message, "options.redis: Expected either redis or store, not both.")
  })

  it("names the client where the server refuses it", async () => {
    const client = new Redis({ lazyConnect: true, host: server.host, port: server.port, password: "hunter22" })
    const refusal = await rejection(gates.create({}, { redis: client }))
    assert.match(refusal.message, /^options\.redis: .*WRONGPASS/)
    assert.notInclude(refusal.message, "hunter22")
  })

  it("serves calls on a Cluster, with the client's prefix", async () => {
    const cluster = await startCluster()
    const client = new Cluster(
      cluster.nodes.map(({ host, port }) => ({ host, port })),
      { redisOptions: { keyPrefix: "app:" } },
    )
    try {
      const [first, second] = [await create(client), await create(client)]
      await fullCall(first.gate, second.gate)
      const keys = await Promise.all(cluster.nodes.map((node) => node.command("keys", "*")))
      const all = keys.flatMap((text) => text.split("\n")).filter((key) => key !== "")
      assert.isAbove(all.length, 1)
      assert.deepStrictEqual(
        all.filter((key) => !key.startsWith("app:vg:")),
        [],
      )
      await first.gate.close()
      await second.gate.close()
      assert.strictEqual(await client.set("mine", "1"), "OK")
    } finally {
      client.disconnect()
      await cluster.dispose()
    }
  })

  it("serves calls on the master that Sentinels name", async () => {
    const sentinels = await startSentinel(1)
    const client = new Redis({
      sentinels: sentinels.sentinels.map(({ host, port }) => ({ host, port })),
      name: "mymaster",
      keyPrefix: "app:",
    })
    try {
      const { gate } = await create(client)
      await fullCall(gate, gate)
      const keys = (await sentinels.master.command("keys", "*")).split("\n")
      assert.isTrue(keys.every((key) => key.startsWith("app:vg:")))
      await gate.close()
      assert.strictEqual(await client.set("mine", "1"), "OK")
    } finally {
      client.disconnect()
      await sentinels.dispose()
    }
  })
})
