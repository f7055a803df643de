/** A gate with `OTEL_TRACES_EXPORTER=otlp` sends its spans to the collector, and nothing in them is secret. */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { makeBench, PLATFORM_KEY, PROVIDER_KEY, runProgram, settingsFor, WEBHOOK_TOKEN } from "../harness/gate.ts"
import { field } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startPlatform, startProvider } from "../harness/servers.ts"
import { startCollector, tracedTo } from "./support/collector.ts"

const QUOTED = "wss://platform.test/session/1?token=quoted-secret"

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
        ...tracedTo(collector.url),
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

  it.each([
    [{ OTEL_SERVICE_NAME: "shop gate" }, "shop gate"],
    [{ OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test,service.name=by%20attribute" }, "by attribute"],
    [{ OTEL_SERVICE_NAME: "", OTEL_RESOURCE_ATTRIBUTES: "service.name=attribute" }, "attribute"],
    [{ OTEL_SERVICE_NAME: "name", OTEL_RESOURCE_ATTRIBUTES: "service.name=attribute" }, "name"],
    [{}, "voicegate"],
  ])("names its service as OpenTelemetry's variables say: %j", async (variables, name) => {
    const collector = bench.own(await startCollector())
    const platform = bench.own(await startPlatform())
    const gate = await bench.gate(settingsFor(platform, { ...tracedTo(collector.url), ...variables }))
    await gate.call()
    const attribute = `{"key":"service.name","value":{"stringValue":"${name}"}}`
    await eventually("its name is sent", () => collector.received().includes(attribute))
  })

  it("sends no message of an error: a platform's may quote anything", async () => {
    const collector = bench.own(await startCollector())
    const platform = bench.own(await startPlatform())
    const gate = await bench.gate(settingsFor(platform, tracedTo(collector.url)))
    platform.script = () => ({
      status: 400,
      body: { success: false, code: "X:REFUSED", message: `no: ${QUOTED}`, data: null },
    })
    assert.notStrictEqual((await gate.call()).status, 200)
    await eventually("the span of the start is sent", () =>
      collector.received().includes('"name":"PlatformApi.initiate"'),
    )
    assert.include(collector.received(), "PlatformUnavailable")
    assert.notInclude(collector.received(), QUOTED)
  })

  it("is not held by a collector that hangs, and keeps few requests to it open", async () => {
    const collector = bench.own(await startCollector({ hangs: true }))
    const platform = bench.own(await startPlatform())
    const gate = await bench.gate(
      settingsFor(platform, {
        ...tracedTo(collector.url),
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "5",
        OTEL_EXPORTER_OTLP_TIMEOUT: "10000",
      }),
    )
    for (let n = 0; n < 200; n++) assert.strictEqual((await gate.ask("GET", `/nothing/${n}`)).status, 404)
    assert.isAtLeast(collector.requests(), 1)
    assert.isAtMost(collector.requests(), 4)
    gate.kill("SIGTERM")
    assert.deepStrictEqual(await gate.exit, { code: 0, signal: null })
  })

  it.each([
    ["always_off", ""],
    ["parentbased_traceidratio", "0"],
  ])("sends nothing of traces that are not sampled: %s", async (sampler, argument) => {
    const collector = bench.own(await startCollector())
    const platform = bench.own(await startPlatform())
    const gate = await bench.gate(
      settingsFor(platform, {
        ...tracedTo(collector.url),
        OTEL_TRACES_SAMPLER: sampler,
        OTEL_TRACES_SAMPLER_ARG: argument,
      }),
    )
    assert.strictEqual((await gate.call()).status, 200)
    // a gate that stops sends its last spans first
    gate.kill("SIGTERM")
    assert.deepStrictEqual(await gate.exit, { code: 0, signal: null })
    assert.strictEqual(collector.requests(), 0)
  })

  it("does not start with a variable that cannot be read, and names it", async () => {
    const platform = bench.own(await startPlatform())
    for (const [name, value] of [
      ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"],
      ["OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"],
      ["OTEL_TRACES_SAMPLER", "xray"],
    ] as const) {
      const { code, output } = await runProgram(
        [],
        settingsFor(platform, { ...tracedTo("http://127.0.0.1:1"), [name]: value }),
      )
      assert.strictEqual(code, 1)
      assert.include(output, "OTEL_")
      assert.match(
        output,
        /expected a URL that begins with http:\/\/ or https:\/\/|gzip|OTEL_TRACES_SAMPLER: expected one of always_on, /,
      )
    }
  })
})
