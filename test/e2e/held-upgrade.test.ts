/**
 * An upgrade, and the way back, while callers wait: gates of this version hold the tickets of their connections, those of the last release
 * write anew every 2 s until when each is present. Nobody who waits loses the place in either order, whether the first gate stops or is
 * killed, and whoever has left is not kept.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { rotating } from "../harness/seed.ts"
import { startBalancer } from "./support/load.ts"
import { allAwayFrom, openPage, type Page } from "./support/page.ts"
import { upgrading } from "./support/upgrade.ts"

const GRACE_SECONDS = 5
const STAY = 30
const POLL = 3
const LEAVE = 5

/** How many of a commit: a gate of the last release runs from its sources, which takes seconds of CPU to start. */
const WAYS = 2
const ways = [
  ["the last release", "this version", "SIGTERM"],
  ["the last release", "this version", "SIGKILL"],
  ["this version", "the last release", "SIGTERM"],
  ["this version", "the last release", "SIGKILL"],
] as const

describe("callers who wait", () => {
  // at the same time, because nearly all of it is waiting; the commits take turns
  it.concurrent.for(rotating(ways, WAYS))(
    "keep their places when a gate of %s is replaced by one of %s, and sent %s",
    { timeout: 180_000 },
    ([from, to, signal], { skip }) =>
      upgrading(async ({ args, bench, platform, released }) => {
        const start = (version: string) =>
          bench.gate(
            { Queue__DisconnectGraceSeconds: String(GRACE_SECONDS) },
            args,
            version === "this version" ? undefined : released.main,
          )
        const first = await start(from)
        const balancer = bench.own(await startBalancer([first]))
        assert.strictEqual((await first.call("192.0.2.250")).status, 200)
        let callers = 0
        const address = (n: number) => `192.0.2.${n}`
        const join = async (): Promise<readonly [ticket: string, address: string]> => {
          const n = ++callers
          return [textOf(await balancer.pick().call(address(n)), "uniqueRequestId"), address(n)]
        }
        const page = async (): Promise<Page> =>
          bench.own(await openPage(balancer, ...(await join()), signal === "SIGKILL"))
        const times = async <A>(count: number, make: () => Promise<A>): Promise<ReadonlyArray<A>> => {
          const all: Array<A> = []
          for (let n = 0; n < count; n++) all.push(await make())
          return all
        }

        const pages = [...(await times(STAY, page))]
        const leaving = [...(await times(LEAVE, page))]
        const polling = (await times(POLL, join)).map(([ticket]) => ticket)
        let polls = true
        const poller = (async () => {
          while (polls) {
            // for a moment no gate may be ready
            const poll = async (ticket: string) => balancer.pick().ask("GET", `/api/session/${ticket}`)
            for (const ticket of polling) await poll(ticket).catch(() => {})
            await sleep(500)
          }
        })()
        bench.own({
          dispose: async () => {
            polls = false
            await poller.catch(() => {})
          },
        })
        const second = await start(to)
        await balancer.add(second)
        // both serve, and pages are at both
        pages.push(...(await times(STAY, page)))
        leaving.push(...(await times(LEAVE, page)))
        await sleep(2 * GRACE_SECONDS * 1_000)
        for (const gone of leaving) await gone.dispose()
        await sleep(3 * GRACE_SECONDS * 1_000)

        first.kill(signal)
        await first.exit
        await allAwayFrom(first.url, pages)
        await sleep(2 * GRACE_SECONDS * 1_000)

        for (const { ticket } of leaving) {
          assert.strictEqual(textOf(await second.ask("GET", `/api/session/${ticket}`), "state"), "abandoned")
        }
        const line = [
          ...pages.slice(0, STAY).map(({ ticket }) => ticket),
          ...polling,
          ...pages.slice(STAY).map(({ ticket }) => ticket),
        ]
        for (const [n, ticket] of line.entries()) {
          const { json } = await second.ask("GET", `/api/session/${ticket}`)
          assert.deepInclude(json, { state: "waiting", queuePosition: n + 1 })
        }
        // and they are called in order
        for (const next of [0, 1]) {
          const { sessionId = "" } = platform.starts[next] ?? {}
          assert.deepStrictEqual((await second.sessionEnded(sessionId)).json, { released: true })
          await eventually(`caller ${next} is called`, () => pages[next]?.called() === 1)
          assert.strictEqual((await second.ask("POST", `/api/session/${line[next]}/start`)).status, 200)
        }
        assert.deepStrictEqual(
          pages.flatMap(({ failed }) => failed),
          [],
        )
      })({ skip }),
  )
})
