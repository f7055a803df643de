/** A host's own platform, store and facts about addresses, as plain objects. */
import { Effect } from "effect"
import { assert, describe, it } from "vitest"
import { ownStore } from "../../src/embedded/own/store.ts"
import {
  AtCapacity,
  createGate,
  type GateOptions,
  type GateSettings,
  MemoryDb,
  type OwnPlatform,
  type OwnStore,
} from "../../src/index.ts"
import { Store } from "../../src/store/Store.ts"
import { rejection, useGates, WEBHOOK_TOKEN } from "./support.ts"

const gates = useGates()

const settings: GateSettings = {
  VoiceAiPlatform: { BusinessId: "business", WebCampaignId: "campaign", DefaultRegionId: "eu", MaxConcurrency: 1 },
  Security: { WebhookApiToken: WEBHOOK_TOKEN },
}

const platformOf = (initiate: OwnPlatform["initiate"]): OwnPlatform => ({ initiate })
const session = { sessionIds: ["s-1"], webSocketUrl: "wss://agent.example/s-1" }

const create = async (options: GateOptions, own: GateSettings = settings) => {
  const log: Array<string> = []
  const gate = gates.own(await createGate(own, { log: ({ message }) => log.push(message), ...options }))
  return { log, ask: (address = "203.0.113.1") => gate.request({}, { address }), gate }
}

/** A store on the data structure of the package, as a host could write it on its own database; `calls` receives what is called. */
const storeOf = (calls: Array<string> = []): OwnStore => {
  const listeners = new Map<string, (message: string) => void>()
  const db = new MemoryDb((channel, message) => listeners.get(channel)?.(message))
  let now = 1_800_000_000_000
  const at = <A>(name: string, step: () => A): Promise<A> => {
    calls.push(name)
    db.now = ++now
    return Promise.resolve(step())
  }
  return {
    run: (rule, { call, context, keys, now: time, ownKeys = [] }) =>
      at(rule.name, () => {
        const [answer] = rule.run(db, [...keys, ...ownKeys], time, context, [call])
        if (answer === undefined) throw new Error("no answer")
        return answer
      }),
    get: (key) => at("get", () => db.get(key)),
    set: (key, value, ttlMillis) => at("set", () => db.set(key, value, ttlMillis)),
    publish: (channel, message) => at("publish", () => db.publish(channel, message)),
    subscribe: async (channel, onMessage) => {
      listeners.set(channel, onMessage)
      return () => listeners.delete(channel)
    },
    ping: () => at("ping", () => undefined),
    now: () => at("now", () => now),
  }
}

describe("a host's own platform", () => {
  it("starts the sessions, and needs no key and no address in the settings", async () => {
    const starts: Array<unknown> = []
    const { ask, gate } = await create({
      platform: platformOf(async (start) => {
        starts.push(start)
        return session
      }),
    })
    assert.deepInclude(await ask(), { status: "started", sessionId: "s-1", webSocketUrl: session.webSocketUrl })
    assert.deepInclude(starts[0], { campaign: "default", regionId: "eu" })
    assert.equal((await ask("203.0.113.2")).status, "queued")
    assert.deepEqual(await gate.sessionEnded("s-1"), { status: "accepted", released: true })
  })

  it("needs no webhook token, since the host reports ends; nothing that the host provides is said to be missing", async () => {
    const { VoiceAiPlatform } = settings
    const { ask, gate, log } = await create(
      {
        platform: platformOf(async () => session),
        store: storeOf(),
        ipIntel: {
          name: "our list",
          lookup: async () => ({ vpn: false, proxy: false, tor: false, datacenter: false }),
        },
      },
      { VoiceAiPlatform },
    )
    assert.deepInclude(await ask(), { status: "started" })
    assert.deepEqual(await gate.sessionEnded("s-1"), { status: "accepted", released: true })
    for (const wrong of ["Server.Host", "IpIntel", "StoreConnectionString", "Webhook"]) {
      assert.notInclude(log.join("\n"), wrong)
    }
  })

  it("says by what it throws what happens next", async () => {
    let failure: Error = new AtCapacity({ message: "all agents are busy" })
    const { ask, log } = await create({
      platform: platformOf(() => {
        throw failure
      }),
    })
    assert.equal((await ask()).status, "queued")
    failure = new Error("the host's own mistake")
    const other = await create({ platform: platformOf(() => Promise.reject(failure)) })
    assert.notEqual((await other.ask()).status, "started")
    assert.include(other.log.join(), "initiate of the host's platform failed.")
    assert.notInclude(log.join(), "failed.")
  })

  it("cannot answer what is no session", async () => {
    const wrong: OwnPlatform["initiate"] = async () =>
      JSON.parse('{ "sessionIds": [], "webSocketUrl": "wss://secret" }')
    const { ask, log } = await create({ platform: platformOf(wrong) })
    assert.notEqual((await ask()).status, "started")
    assert.include(log.join(), "initiate of the host's platform gave an answer of a wrong shape: see sessionIds.")
    assert.notInclude(log.join(), "secret")
  })

  it("may give a credential in place of an address", async () => {
    const credential = { shape: "token" as const, platform: "our vendor", token: "t-1" }
    const { ask } = await create({ platform: platformOf(async () => ({ sessionIds: ["s-1"], credential })) })
    assert.deepInclude(await ask(), { status: "started", sessionId: "s-1", credential })
    const neither = await create({ platform: platformOf(async () => ({ sessionIds: ["s-1"] })) })
    assert.notEqual((await neither.ask()).status, "started")
  })

  it("may be an instance of a class, and so may the store", async () => {
    class Vendor implements OwnPlatform {
      readonly limit = 2
      readonly client = { start: async () => session }
      initiate() {
        return this.client.start()
      }
      async concurrency() {
        return { limit: this.limit, inUse: 0 }
      }
    }
    class Database {
      readonly client = storeOf()
      run: OwnStore["run"] = (rule, ask) => this.client.run(rule, ask)
      get: OwnStore["get"] = (key) => this.client.get(key)
      set: OwnStore["set"] = (key, value, millis) => this.client.set(key, value, millis)
      publish: OwnStore["publish"] = (channel, message) => this.client.publish(channel, message)
      subscribe: OwnStore["subscribe"] = (...subscription) => this.client.subscribe(...subscription)
      ping() {
        return this.client.ping()
      }
      async now() {
        return (await this.client.now?.()) ?? 0
      }
    }
    const { MaxConcurrency: _, ...platform } = settings.VoiceAiPlatform
    const { ask } = await create(
      { platform: new Vendor(), store: new Database() },
      { ...settings, VoiceAiPlatform: platform },
    )
    assert.equal((await ask()).status, "started")
    assert.equal((await ask("203.0.113.2")).status, "started")
    assert.equal((await ask("203.0.113.3")).status, "queued")
  })

  it("is the limit by what it throws, without its concurrency and without `MaxConcurrency`", async () => {
    const { MaxConcurrency: _, ...platform } = settings.VoiceAiPlatform
    let starts = 0
    const options = {
      platform: platformOf(async () => {
        starts++
        if (starts > 1) throw new AtCapacity({ message: "all agents are busy" })
        return session
      }),
    }
    const unknown = await create(options, { ...settings, VoiceAiPlatform: platform })
    assert.include(unknown.log.join(), "The platform's own refusal at capacity is the limit")
    assert.equal((await unknown.ask()).status, "started")
    assert.equal((await unknown.ask("203.0.113.2")).status, "queued")
    const { ask } = await create(
      { platform: { initiate: async () => session, concurrency: async () => ({ limit: 1, inUse: 0 }) } },
      { ...settings, VoiceAiPlatform: platform },
    )
    assert.equal((await ask()).status, "started")
  })
})

describe("a host's own facts about addresses", () => {
  const own = (lookup: NonNullable<GateOptions["ipIntel"]>["lookup"], onError: "allow" | "block" = "block") =>
    create(
      { platform: platformOf(async () => session), ipIntel: { name: "our list", lookup } },
      { ...settings, IpIntel: { OnError: onError } },
    )

  it("decide who is blocked; private addresses are not asked for", async () => {
    const asked: Array<string> = []
    const { ask } = await own(async (address) => {
      asked.push(address)
      return { vpn: true, proxy: false, tor: false, datacenter: false, relay: false }
    })
    assert.deepInclude(await ask("198.51.99.7"), { status: "refused", code: "blocked", reason: "vpn" })
    assert.equal((await ask("10.0.0.1")).status, "started")
    assert.notInclude(asked, "10.0.0.1")
  })

  it("are not clean when they are missing, fail or are misspelt", async () => {
    const unknown = await own(async () => ({}))
    assert.equal((await unknown.ask("198.51.99.7")).status, "refused")
    const down = await own(() => Promise.reject(new Error("down")))
    assert.equal((await down.ask("198.51.99.7")).status, "refused")
    assert.equal(
      (await (await own(() => Promise.reject(new Error("down")), "allow")).ask("198.51.99.7")).status,
      "started",
    )
    const misspelt = await own(async () => JSON.parse('{ "vpm": true }'))
    assert.equal((await misspelt.ask("198.51.99.7")).status, "refused")
  })
})

describe("a host's own store", () => {
  it("may answer null for a value that there is not; its time must be a number", async () => {
    const own: OwnStore = {
      ...storeOf(),
      get: async () => JSON.parse("null"),
      now: async () => JSON.parse('"1800000000000"'),
    }
    const asking = <A, E>(effect: Effect.Effect<A, E, Store>) =>
      Effect.runPromise(Effect.scoped(Effect.provide(effect, ownStore(own))))
    assert.isUndefined(await asking(Effect.flatMap(Store, ({ get }) => get("key"))))
    const error = await rejection(asking(Effect.flatMap(Store, ({ now }) => now)))
    assert.equal(error.message, "options.store.now: expected ms since 1970")
  })

  it("has the queue, the limits and the messages", async () => {
    const calls: Array<string> = []
    const store = storeOf(calls)
    const { ask, gate } = await create({ platform: platformOf(async () => session), store })
    assert.equal((await ask()).status, "started")
    const waiting = await ask("203.0.113.2")
    if (waiting.status !== "queued") return assert.fail(waiting.status)
    const events = gate.events(waiting.uniqueRequestId)[Symbol.asyncIterator]()
    assert.deepInclude((await events.next()).value, { type: "position", position: 1 })
    await gate.sessionEnded("s-1")
    assert.deepInclude((await events.next()).value, { type: "start_call" })
    await events.return?.()
    assert.includeMembers(calls, ["takeAndAdmit", "queue.end", "now"])
  })

  it("a host's own store that fails is an outage, until it is back", async () => {
    const store = storeOf()
    let down = false
    const failing: OwnStore = {
      ...store,
      run: (rule, ask) => (down ? Promise.reject(new Error("down")) : store.run(rule, ask)),
      ping: () => (down ? Promise.reject(new Error("down")) : store.ping()),
    }
    const { ask } = await create({ platform: platformOf(async () => session), store: failing })
    down = true
    assert.deepInclude(await ask(), { status: "refused", code: "store_unavailable" })
    down = false
    assert.equal((await ask()).status, "started")
  })
})

it("an object of the host with an unknown, missing or wrong member is refused, with what was meant", async () => {
  const wrong: GateOptions = JSON.parse('{ "platform": { "initate": 1 }, "ipIntel": { "lookup": 1 } }')
  assert.equal((await rejection(createGate(settings, wrong))).message, "options.ipIntel.lookup: expected a function")
  const { platform } = wrong
  if (platform === undefined) return assert.fail("no platform")
  assert.equal(
    (await rejection(createGate(settings, { platform }))).message,
    "options.platform.initate: Expected one of initiate, concurrency, sessionStatus, sessionsOf, end; did you mean initiate?\n" +
      "options.platform.initiate: expected a function",
  )
  const { get: _, ...store } = storeOf()
  const partial: GateOptions = {
    platform: platformOf(async () => session),
    store: Object.assign(Object.create(null), store),
  }
  assert.include((await rejection(createGate(settings, partial))).message, "options.store.get: expected a function")
})
