/** Two gates under 200 waiting callers and steady requests: settings change while they run, and gates are replaced. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { type Gate, makeBench } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { type FakePlatform, startPlatform } from "../harness/servers.ts"
import { type Balancer, load, startBalancer } from "./support/load.ts"
import { allAwayFrom, openPage, type Page } from "./support/page.ts"
import { consoleAsks, type Given, reload, settings, settingsFile } from "./support/reload.ts"

const CALLERS = 200
/** how many of them start a call in the course of the tests; the others only wait */
const STARTING = 3
const DRAIN_SECONDS = 3
const addressOf = (caller: number): string => `192.0.2.${caller}`
const EXITED = { code: 0, signal: null }

describe("two gates with 200 waiting callers under load", { timeout: 120_000 }, () => {
  const bench = makeBench()
  afterAll(bench.dispose)
  const file = settingsFile(bench)
  let platform: FakePlatform
  let given: Given
  let one: Gate
  let two: Gate
  let balancer: Balancer
  let tickets: ReadonlyArray<string>
  let pages: ReadonlyArray<Page>

  const start = () => bench.gate({}, ["--config", file.path])
  const called = (n: number) => eventually(`caller ${n} is called`, () => pages[n]?.called() === 1)
  const closedConnections = () => pages.flatMap(({ closedAt }) => closedAt)
  /** Everybody is where they were: the first three in their calls, the others at their places. */
  const assertPlaces = async (gate: Gate) => {
    for (const [n, ticket] of tickets.entries()) {
      const status = await gate.ask("GET", `/api/session/${ticket}`)
      assert.strictEqual(status.status, 200)
      if (n < STARTING) assert.strictEqual(textOf(status, "state"), "live")
      else assert.deepInclude(status.json, { state: "waiting", queuePosition: n - STARTING + 1 })
    }
    for (const { failed } of pages) assert.deepStrictEqual(failed, [])
  }

  beforeAll(async () => {
    const redis = bench.own(await startRedis())
    platform = bench.own(await startPlatform())
    given = { store: redis.url, platform, campaigns: { sales: { WebCampaignId: "sales-1", MaxConcurrency: 1 } } }
    file.write(settings(given))
    ;[one, two] = await Promise.all([start(), bench.gate({}, ["--config", file.path, "--processes", "2"])])
    await eventually("all listen", () => two.output().split("listens at").length === 3)
    balancer = bench.own(await startBalancer([one, two]))
    assert.strictEqual((await one.call("192.0.2.1")).status, 200)
    const answers = []
    for (let n = 0; n < CALLERS; n++) answers.push(await balancer.pick().call(addressOf(n)))
    tickets = answers.map((answer) => textOf(answer, "uniqueRequestId"))
    pages = await Promise.all(
      tickets.map(async (ticket, n) => bench.own(await openPage(balancer, ticket, addressOf(n)))),
    )
  }, 120_000)

  it("change slots, limits and campaigns on SIGHUP without a failed request, a lost place or a closed connection", async () => {
    const { more, stop } = load(balancer, tickets.slice(STARTING))
    const reloadWith = async (changed: Partial<Given>) => {
      file.write(settings({ ...given, hourly: 100_000, ...changed }))
      await Promise.all([reload(one), reload(two, 2)])
    }

    await more(50)
    await reloadWith({ slots: 3 })
    await called(0)
    await called(1)
    await more(100)
    await reloadWith({ slots: 4, campaigns: {} })
    await more(100)
    await called(2)
    for (const ticket of tickets.slice(0, STARTING)) {
      assert.strictEqual((await balancer.pick().ask("POST", `/api/session/${ticket}/start`)).status, 200)
    }
    const { answered, failed } = await stop()
    assert.deepStrictEqual(failed, [])
    assert.isAtLeast(answered, 250)
    assert.deepStrictEqual(closedConnections(), [])
    await assertPlaces(one)

    assert.strictEqual((await one.call(undefined, { campaignId: "sales" })).status, 400)
    assert.strictEqual((await two.call(undefined, { campaignId: "sales" })).status, 400)
    await reloadWith({ slots: 4, campaigns: {}, hourly: 1 })
    assert.strictEqual((await one.call("198.51.100.1")).status, 202)
    assert.strictEqual((await two.call("198.51.100.1")).status, 429)
    assert.include(one.output(), "VoiceAiPlatform.Campaigns.sales (removed)")

    const auditLog = await consoleAsks(one, "GET", "audit-log?count=10")
    const lines = Reflect.get(Object(auditLog.json), "lines")
    assert.deepInclude(JSON.parse(JSON.stringify(lines)).at(0), {
      who: "SIGHUP",
      action: "settings",
      result: "done",
      changes: { settings: [{ setting: "Security.RateLimitHourly", before: "100000", after: "1" }], more: 0 },
    })
    assert.include(JSON.stringify(lines), "Security.RateLimitHourly, VoiceAiPlatform.MaxConcurrency")
  })

  it("send their callers away over Server.DrainSeconds when they stop, without a failed request or a lost place", async () => {
    given = { ...given, slots: 4, campaigns: {}, hourly: 100_000, drainSeconds: DRAIN_SECONDS }
    file.write(settings(given))
    await Promise.all([reload(one), reload(two, 2)])
    const { more, stop } = load(balancer, tickets.slice(STARTING))
    const replaced = async (gate: Gate) => {
      const before = closedConnections().length
      const leaving = pages.filter(({ at }) => at() === gate.url).length
      assert.isAtLeast(leaving, CALLERS / 4)
      gate.kill("SIGTERM")
      assert.deepStrictEqual(await gate.exit, EXITED)
      await allAwayFrom(gate.url, pages)
      const closed = closedConnections()
        .toSorted((a, b) => a - b)
        .slice(before)
      // each was sent away once, and not at once
      assert.lengthOf(closed, leaving)
      const within = (closed.at(-1) ?? 0) - (closed.at(0) ?? 0)
      assert.isAtLeast(within, (DRAIN_SECONDS * 1000) / 2)
      await more(50)
    }

    await replaced(one)
    const third = await start()
    await balancer.add(third)
    await replaced(two)
    const { failed } = await stop()
    assert.deepStrictEqual(failed, [])
    await assertPlaces(third)
    const errors = [one, two, third].flatMap(({ output }) => output().match(/^.*"level":"(?:error|fatal)".*$/gm) ?? [])
    // the checks at the start ask for what the fake platform does not have
    assert.deepStrictEqual(
      errors.filter((line) => !line.includes("there is no platform API at this address")),
      [],
    )
    third.kill("SIGTERM")
    assert.deepStrictEqual(await third.exit, EXITED)
  })
})
