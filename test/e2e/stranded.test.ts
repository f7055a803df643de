/** Two gates, one of which loses its store: its packets are dropped without an error. */
import { assert, it } from "@effect/vitest"
import { settingsFor, withBench } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startPlatform } from "../harness/servers.ts"
import { startSwallower } from "../harness/swallower.ts"
import { openSocket } from "./support/push.ts"

const GRACE_SECONDS = 10
const PAGES = 5

it(
  "pages of a gate without store come to the other one, keep their places, and are called there",
  withBench(async (bench) => {
    const platform = bench.own(await startPlatform())
    const redis = bench.own(await startRedis())
    const path = bench.own(await startSwallower(redis.port))
    const settings = settingsFor(platform, {
      Queue__DisconnectGraceSeconds: String(GRACE_SECONDS),
      Security__TrustedProxies__0: "loopback",
      StoreConnectionString: redis.url,
    })
    const cut = await bench.gate({ ...settings, StoreConnectionString: `redis://127.0.0.1:${path.port}` })
    const whole = await bench.gate(settings)
    for (const gate of [cut, whole]) {
      await eventually("ready", async () => (await gate.ask("GET", "/health/ready")).status === 200)
    }
    assert.strictEqual((await cut.call("198.51.100.1")).status, 200)
    const tickets: Array<string> = []
    for (let n = 0; n < PAGES; n++) tickets.push(textOf(await cut.call(`198.51.101.${n}`), "uniqueRequestId"))
    const pages = await Promise.all(tickets.map(async (ticket) => bench.own(await openSocket(cut, ticket))))
    await Promise.all(pages.map((page, n) => page.sees("position", { position: n + 1 })))

    path.swallowsNew = true
    path.swallow()
    // as the widget does
    const moved = await Promise.all(
      pages.map(async (page, n) => {
        await page.sees("reconnect")
        return bench.own(await openSocket(whole, tickets[n] ?? ""))
      }),
    )
    assert.strictEqual((await cut.ask("GET", "/health/ready")).status, 503)
    assert.match(cut.output(), /5 waiting pages are told to reconnect elsewhere/)
    // longer than the disconnect grace at the other gate
    await new Promise((resolve) => setTimeout(resolve, (GRACE_SECONDS + 4) * 1000))
    for (const [n, ticket] of tickets.entries()) {
      const { json } = await whole.ask("GET", `/api/session/${ticket}`)
      assert.deepStrictEqual([json.state, json.queuePosition], ["waiting", n + 1])
    }
    assert.deepStrictEqual((await whole.sessionEnded("conversation-1")).json, { released: true })
    await moved[0]?.sees("start_call")
  }),
)
