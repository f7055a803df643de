/** A gate with `OTEL_TRACES_EXPORTER=otlp` sends its spans to the collector, and nothing in them is secret. */
import { once } from "node:events"
import { createServer } from "node:http"
import { text } from "node:stream/consumers"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { makeBench, PLATFORM_KEY, PROVIDER_KEY, settingsFor, WEBHOOK_TOKEN } from "../../scripts/harness/gate.ts"
import { field } from "../../scripts/harness/http.ts"
import { eventually } from "../../scripts/harness/process.ts"
import { startRedis } from "../../scripts/harness/redis.ts"
import { startPlatform, startProvider } from "../../scripts/harness/servers.ts"

/** A collector that keeps what it is sent. */
const startCollector = async () => {
  let received = ""
  const server = createServer(async (request, response) => {
    received += await text(request)
    response.setHeader("content-type", "application/json").end("{}")
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  assert(typeof address === "object" && address !== null)
  return {
    url: `http://127.0.0.1:${address.port}`,
    received: () => received,
    dispose: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

describe("a gate with a collector of traces", () => {
  const bench = makeBench()
  afterAll(bench.dispose)

  it("sends a span for each step of a request, without keys, tickets, addresses and session URLs", async () => {
    const collector = bench.own(await startCollector())
    const redis = bench.own(await startRedis())
    const platform = bench.own(await startPlatform())
    const provider = bench.own(await startProvider())
    const gate = await bench.gate(
      settingsFor(platform, {
        OTEL_TRACES_EXPORTER: "otlp",
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_BSP_SCHEDULE_DELAY: "100",
        StoreConnectionString: redis.url,
        Security__TrustedProxies__0: "loopback",
        IpIntel__BaseUrl: provider.origin,
        IpIntel__ApiKey: PROVIDER_KEY,
      }),
    )
    const started = await gate.call("198.18.7.41")
    assert.strictEqual(started.status, 200)
    const queued = await gate.call("8.8.4.77")
    const ticket = field(queued, "uniqueRequestId")
    await gate.ask("GET", `/api/session/${ticket}`)
    for (const name of [
      "POST /api/session/request",
      "Gatekeeper.admit",
      "IpIntel.request",
      "PlatformApi.request",
      "Store.run",
      "GET /api/session/:id",
      "background sweep",
    ]) {
      await eventually(`the span ${name} is sent`, () => collector.received().includes(`"name":"${name}"`))
    }
    const sent = collector.received()
    for (const secret of [
      PLATFORM_KEY,
      PROVIDER_KEY,
      WEBHOOK_TOKEN,
      ticket,
      field(started, "uniqueRequestId"),
      field(started, "webSocketUrl"),
      "198.18.7.41",
      "8.8.4.77",
    ]) {
      assert(secret !== undefined)
      assert.notInclude(sent, secret)
    }
  })
})
