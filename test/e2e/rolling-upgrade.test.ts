/**
 * A rolling upgrade from the last release: gates of both versions on one Redis, under 200 waiting callers and steady requests. Each
 * version calls callers whose page is at the other, and starts and ends calls of the other.
 */
import { assert, it } from "@effect/vitest"
import type { Gate } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { load, startBalancer } from "./support/load.ts"
import { allAwayFrom, openPage, type Page } from "./support/page.ts"
import { upgrading } from "./support/upgrade.ts"

const CALLERS = 200
const EXITED = { code: 0, signal: null }
const addressOf = (caller: number): string => `192.0.2.${caller}`

it(
  "an upgrade from the last release, gate by gate under load, fails no request and loses no place",
  {
    timeout: 180_000,
  },
  upgrading(async ({ args, bench, platform, released }) => {
    const old = () => bench.gate({}, args, released.main)
    const upgraded = () => bench.gate({}, args)

    const [oldOne, oldTwo] = await Promise.all([old(), old()])
    const balancer = bench.own(await startBalancer([oldOne, oldTwo]))
    assert.strictEqual((await oldOne.call(addressOf(250))).status, 200)
    const tickets: Array<string> = []
    for (let n = 0; n < CALLERS; n++) {
      tickets.push(textOf(await balancer.pick().call(addressOf(n)), "uniqueRequestId"))
    }
    const pages = await Promise.all(
      tickets.map(async (ticket, n) => bench.own(await openPage(balancer, ticket, addressOf(n)))),
    )
    let done = 0
    /** The call that runs ends at one gate; the first caller, wherever their page is, is called and starts at another gate. */
    const nextCall = async (endsAt: Gate, startsAt: Gate): Promise<void> => {
      const first = pages[done]
      const { sessionId = "" } = platform.starts[done] ?? {}
      assert.deepStrictEqual((await endsAt.sessionEnded(sessionId)).json, { released: true })
      await eventually(`caller ${done} is called`, () => first?.called() === 1)
      assert.strictEqual((await startsAt.ask("POST", `/api/session/${tickets[done]}/start`)).status, 200)
      done++
    }
    const stop = async (gate: Gate): Promise<void> => {
      gate.kill("SIGTERM")
      assert.deepStrictEqual(await gate.exit, EXITED)
      await allAwayFrom(gate.url, pages)
    }
    const isAt = (gate: Gate) => (page: Page) => page.at() === gate.url

    const { more, stop: stopLoad } = load(balancer, tickets)
    await more(30)
    const newOne = await upgraded()
    await balancer.add(newOne)
    await more(60)
    await nextCall(newOne, oldOne)
    await nextCall(oldTwo, newOne)
    await stop(oldOne)
    // pages at both versions are called by the other one
    assert.isAbove(pages.filter(isAt(newOne)).length, 0)
    await nextCall(oldTwo, newOne)
    await nextCall(newOne, oldTwo)
    const newTwo = await upgraded()
    await balancer.add(newTwo)
    await more(60)
    await stop(oldTwo)
    await nextCall(newTwo, newOne)
    await nextCall(newOne, newTwo)
    await more(30)
    const { failed } = await stopLoad()
    assert.deepStrictEqual(failed, [])

    for (const [n, ticket] of tickets.entries()) {
      const status = await newTwo.ask("GET", `/api/session/${ticket}`)
      assert.strictEqual(status.status, 200)
      if (n < done - 1) assert.strictEqual(textOf(status, "state"), "ended")
      else if (n < done) assert.strictEqual(textOf(status, "state"), "live")
      else assert.deepInclude(status.json, { state: "waiting", queuePosition: n - done + 1 })
    }
    // nobody was called twice, or before their turn
    assert.deepStrictEqual(
      pages.map((page) => page.called()),
      pages.map((_, n) => (n < done ? 1 : 0)),
    )
    const problems = [oldOne, oldTwo, newOne, newTwo].flatMap(
      ({ output }) => output().match(/^.*"level":"(?:warn|error|fatal)".*$/gm) ?? [],
    )
    assert.deepStrictEqual(
      // no address is looked up, and the checks at the start ask for what the fake platform does not have
      problems.filter((line) => !/IpIntel\.Provider is none|there is no platform API at this address/.test(line)),
      [],
    )
  }),
)
