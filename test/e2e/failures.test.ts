/** Answers to callers while the platform or the provider of IP intelligence fails, in every way. */
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Gate, makeBench, PROVIDER_KEY, settingsFor } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import {
  clean,
  type FakePlatform,
  type FakeProvider,
  type Scripted,
  startPlatform,
  startProvider,
} from "../harness/servers.ts"
import { openSocket } from "./support/push.ts"

describe("a platform that fails", () => {
  const bench = makeBench()
  afterAll(bench.dispose)
  let platform: FakePlatform
  let gate: Gate

  beforeAll(async () => {
    platform = bench.own(await startPlatform())
    // one call an hour: a caller whose failed request had cost quota could not be started afterwards
    gate = await bench.gate(
      settingsFor(platform, {
        Security__TrustedProxies__0: "loopback",
        Security__RateLimitHourly: "1",
        Queue__OnPlatformRefusal: "refuse",
      }),
    )
  })

  const envelope = (code: string): unknown => ({ success: false, code, message: `no: ${code}`, data: null })
  const failures: ReadonlyArray<readonly [what: string, scripted: Scripted, status: number, code: string]> = [
    ["401 Invalid token.", { status: 401, body: { detail: "Invalid token." } }, 502, "platform_rejected"],
    ["403", { status: 403, body: envelope("InitiateWebSession:RESTRICTED_API_KEY") }, 502, "platform_rejected"],
    ["200, success false", { status: 200, body: envelope("X:REGION_NOT_FOUND") }, 502, "platform_rejected"],
  ]

  for (const [index, [what, scripted, status, code]] of failures.entries()) {
    it(`answers ${status} for ${what}, and gives slot and quota back`, async () => {
      const address = `198.51.100.${index + 1}`
      platform.script = () => scripted
      const answer = await gate.call(address)
      assert.deepStrictEqual([answer.status, answer.json.code], [status, code])
      assert.isAbove(Number(answer.headers["retry-after"]), 0)
      platform.script = undefined
      // the gate pauses for a second before it asks again
      await sleep(1_500)
      const again = await gate.call(address)
      assert.strictEqual(again.status, 200, again.text)
      assert.deepStrictEqual((await gate.sessionEnded(platform.starts.at(-1)?.sessionId ?? "")).json, {
        released: true,
      })
    })
  }

  for (const [index, [what, scripted]] of (
    [
      ["429", { status: 429, body: { detail: "Too many requests." } }],
      ["200 with CONCURRENCY_LIMIT_REACHED", { status: 200, body: envelope("X:CONCURRENCY_LIMIT_REACHED") }],
    ] as const
  ).entries()) {
    it(`keeps the caller at the head of the queue for ${what}, and calls again after a rest`, async () => {
      platform.script = () => scripted
      const answer = await gate.call(`198.51.100.${100 + index}`)
      assert.deepStrictEqual([answer.status, answer.json.queuePosition], [202, 1])
      const ticket = textOf(answer, "uniqueRequestId")
      const socket = bench.own(await openSocket(gate, ticket))
      platform.script = undefined
      const behind = await gate.call(`198.51.100.${110 + index}`)
      assert.deepStrictEqual([behind.status, behind.json.queuePosition], [202, 2])
      await socket.sees("start_call")
      assert.strictEqual((await gate.ask("POST", `/api/session/${ticket}/start`)).status, 200)
      await gate.ask("DELETE", `/api/session/${textOf(behind, "uniqueRequestId")}`)
      await gate.sessionEnded(platform.starts.at(-1)?.sessionId ?? "")
    })
  }

  it("keeps the caller's place for 503, which starts nothing, and calls again after a moment", async () => {
    platform.script = () => ({ status: 503, body: "" })
    const answer = await gate.call("198.51.100.120")
    assert.deepStrictEqual([answer.status, answer.json.queuePosition, answer.json.disrupted], [202, 1, undefined])
    const ticket = textOf(answer, "uniqueRequestId")
    const socket = bench.own(await openSocket(gate, ticket))
    await socket.sees("start_call")
    const again = await gate.ask("POST", `/api/session/${ticket}/start`)
    assert.deepStrictEqual([again.status, again.json.code, again.json.queuePosition], [409, "agent_unavailable", 1])
    platform.script = undefined
    await eventually("it is called again", () => socket.count("start_call") === 2)
    assert.strictEqual((await gate.ask("POST", `/api/session/${ticket}/start`)).status, 200)
    assert.deepStrictEqual((await gate.sessionEnded(platform.starts.at(-1)?.sessionId ?? "")).json, { released: true })
  })

  it("stops asking after five failures in a row, informs all callers, and resumes in the same order", async () => {
    const gate = await bench.gate(
      settingsFor(platform, { Security__TrustedProxies__0: "loopback", VoiceAiPlatform__MaxConcurrency: "10" }),
    )
    // what it reads at its start is answered, which would end the row
    await eventually("it has said what it found", () => gate.output().includes("region, campaign default"))
    const stateOf = async (ticket: string) => (await gate.ask("GET", `/api/session/${ticket}`)).json
    const start = (ticket: string) => gate.ask("POST", `/api/session/${ticket}/start`)
    platform.script = () => ({ status: 503, body: "" })
    const before = platform.starts.length
    const tickets: Array<string> = []
    for (let i = 0; i < 6; i++) {
      const answer = await gate.call(`198.51.100.${130 + i}`)
      assert.deepStrictEqual([answer.status, answer.json.disrupted], [202, undefined])
      const ticket = textOf(answer, "uniqueRequestId")
      tickets.push(ticket)
      // the first found a free slot; the others wait behind it and are called to theirs
      if (i === 0) continue
      await eventually("it is called", async () => (await stateOf(ticket)).state === "called")
      const failed = await start(ticket)
      assert.deepStrictEqual([failed.status, failed.json.code], [409, "agent_unavailable"])
    }
    assert.strictEqual(platform.starts.length - before, 5)
    const [first = ""] = tickets
    const newcomer = await gate.call("198.51.100.140")
    assert.deepStrictEqual([newcomer.status, newcomer.json.disrupted], [202, true])
    assert.deepInclude(await stateOf(textOf(newcomer, "uniqueRequestId")), { state: "waiting", disrupted: true })
    assert.strictEqual(platform.starts.length - before, 5)

    platform.script = undefined
    await eventually("the first is started", async () => (await start(first)).status === 200, 20_000)
    for (const ticket of tickets.slice(1)) {
      await eventually("and those behind it", async () => (await start(ticket)).status === 200)
    }
    await eventually("nobody is told of trouble", async () => {
      const { disrupted, state } = await stateOf(textOf(newcomer, "uniqueRequestId"))
      return state === "called" && disrupted === undefined
    })
  })
})

describe("a provider of IP intelligence that fails", () => {
  const bench = makeBench()
  afterAll(bench.dispose)
  let provider: FakeProvider
  let allowing: Gate
  let blocking: Gate

  beforeAll(async () => {
    const platform = bench.own(await startPlatform())
    provider = bench.own(await startProvider())
    const settings = (onError: string) =>
      settingsFor(platform, {
        VoiceAiPlatform__MaxConcurrency: "100",
        Security__TrustedProxies__0: "loopback",
        IpIntel__BaseUrl: provider.origin,
        IpIntel__ApiKey: PROVIDER_KEY,
        IpIntel__TimeoutMillis: "300",
        IpIntel__OnError: onError,
      })
    ;[allowing, blocking] = await Promise.all([bench.gate(settings("allow")), bench.gate(settings("block"))])
  })

  let next = 1
  /** an address of the internet that nobody has asked for yet, each of another network: failures of one open no circuit */
  const stranger = (): string => `1.2.${next++}.3`

  for (const [fact, reason] of [
    ["is_vpn", "vpn"],
    ["is_proxy", "proxy"],
    ["is_tor", "tor"],
  ] as const) {
    it(`blocks what the provider knows to be ${reason}`, async () => {
      provider.script = () => ({ status: 200, body: { [fact]: true } })
      const answer = await allowing.call(stranger())
      assert.deepStrictEqual([answer.status, answer.json.code, answer.json.reason], [403, "blocked", reason])
    })
  }

  it("allows data centres by default, and asks once for an address", async () => {
    provider.script = () => ({ status: 200, body: { is_datacenter: true } })
    const address = stranger()
    for (let i = 0; i < 3; i++) assert.strictEqual((await allowing.call(address)).status, 200)
    assert.strictEqual(provider.lookups.filter((asked) => asked === address).length, 1)
  })

  const failures: ReadonlyArray<readonly [string, Scripted]> = [
    ["401", { status: 401, body: "" }],
    ["403 (quota)", { status: 403, body: "" }],
    ["429", { status: 429, body: "" }],
    ["500", { status: 500, body: "" }],
    ["no answer in time", "hang"],
    ["a connection that breaks", "reset"],
    ["an answer that is not JSON", { status: 200, body: "<html>" }],
    ["an answer without facts", { status: 200, body: {} }],
    ["an answer with wrong types", { status: 200, body: { is_vpn: "maybe" } }],
    ["an error in a 200", { status: 200, body: { error: "quota" } }],
  ]
  for (const [what, scripted] of failures) {
    it(`decides by OnError for ${what}`, async () => {
      provider.script = () => scripted
      const through = await allowing.call(stranger())
      assert.strictEqual(through.status, 200)
      const out = await blocking.call(stranger())
      assert.deepStrictEqual([out.status, out.json.code, out.json.reason], [403, "blocked", "ip_check_failed"])
      // a good answer in between keeps the circuit closed
      provider.script = () => clean
      assert.strictEqual((await allowing.call(stranger())).status, 200)
      assert.strictEqual((await blocking.call(stranger())).status, 200)
    })
  }

  it("decides by OnError when the connection is refused, and opens the circuit", async () => {
    await provider.dispose()
    for (let i = 0; i < 6; i++) {
      assert.strictEqual((await allowing.call(stranger())).status, 200)
      assert.strictEqual((await blocking.call(stranger())).status, 403)
    }
    await allowing.call(stranger())
    await blocking.call(stranger())
    // the log reports it within a minute, with the number of callers
    await eventually("the circuit's callers are counted", async () =>
      /voicegate_unchecked_total\{[^}]*reason="circuit_open"[^}]*\} [1-9]/.test(
        (await blocking.ask("GET", "/metrics")).text,
      ),
    )
  })

  it("does not look up addresses that are not public", async () => {
    const before = provider.lookups.length
    for (const address of ["192.168.1.1", "203.0.113.9", "::1"]) {
      assert.strictEqual((await blocking.call(address)).status, 200)
    }
    assert.strictEqual(provider.lookups.length, before)
  })
})
