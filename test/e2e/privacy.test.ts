/** `Privacy.Addresses: hashed`: no address of a caller is in Redis, in the log, in the console or in the figures. */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { makeBench, PROVIDER_KEY, settingsFor } from "../harness/gate.ts"
import { eventually } from "../harness/process.ts"
import { type RedisServer, startRedis } from "../harness/redis.ts"
import { startPlatform, startProvider } from "../harness/servers.ts"

const CONSOLE = "console-token-of-the-test"
const ADDRESSES = ["198.18.7.41", "8.8.4.77", "2a02:26f7:c1:42::77"]
/** Parts that would reveal an address or its network. */
const TRACES = ["198.18.7", "8.8.4", "2a02:26f7"]

/** Every key of the store with its value, as text. */
const dump = async (redis: RedisServer): Promise<string> => {
  const keys = (await redis.command("--scan")).split("\n").filter((key) => key !== "")
  const values = await Promise.all(
    keys.map(async (key) => {
      switch (await redis.command("type", key)) {
        case "string":
          return redis.command("get", key)
        case "hash":
          return redis.command("hgetall", key)
        case "zset":
          return redis.command("zrange", key, "0", "-1", "withscores")
        case "list":
          return redis.command("lrange", key, "0", "-1")
        default:
          return redis.command("smembers", key)
      }
    }),
  )
  return keys.map((key, n) => `${key} ${values[n]}`).join("\n")
}

describe("a gate that hashes addresses", () => {
  const bench = makeBench()
  afterAll(bench.dispose)

  const run = async (addresses: "plain" | "hashed") => {
    const redis = bench.own(await startRedis())
    const platform = bench.own(await startPlatform())
    const provider = bench.own(await startProvider())
    const gate = await bench.gate(
      settingsFor(platform, {
        StoreConnectionString: redis.url,
        Security__TrustedProxies__0: "loopback",
        Security__RateLimitHourly: "2",
        Security__RateLimitDaily: "5",
        Security__ConsoleToken: CONSOLE,
        IpIntel__BaseUrl: provider.origin,
        IpIntel__ApiKey: PROVIDER_KEY,
        Privacy__Addresses: addresses,
      }),
    )
    const statuses: Array<number> = []
    for (const address of ADDRESSES) {
      for (let n = 0; n < 3; n++) statuses.push((await gate.call(address)).status)
    }
    const from = (address: string, token: string) => ({
      headers: { authorization: `Bearer ${token}`, "x-forwarded-for": address },
    })
    await gate.ask("GET", "/console/api/view", from(ADDRESSES[0] ?? "", "a-wrong-token-of-somebody"))
    const acted = await gate.ask("POST", "/console/api/actions", {
      ...from(ADDRESSES[1] ?? "", CONSOLE),
      body: { action: { type: "pause" } },
    })
    const view = await gate.ask("GET", "/console/api/view", from(ADDRESSES[1] ?? "", CONSOLE))
    const auditLog = await gate.ask("GET", "/console/api/audit-log", from(ADDRESSES[1] ?? "", CONSOLE))
    const metrics = await gate.ask("GET", "/metrics")
    await eventually("all is logged", () => gate.output().split('"outcome":"rate_limited"').length === 4)
    await eventually("the facts are kept", async () => (await dump(redis)).split("vg:ip:").length > 2)
    return {
      statuses,
      acted,
      everywhere: `${await dump(redis)}\n${gate.output()}\n${view.text}\n${auditLog.text}\n${metrics.text}`,
    }
  }

  it("counts as before, and writes no address anywhere", async () => {
    const { acted, everywhere, statuses } = await run("hashed")
    assert.deepStrictEqual(statuses, [200, 202, 429, 202, 202, 429, 202, 202, 429])
    assert.strictEqual(acted.status, 200, acted.text)
    for (const trace of TRACES) assert.notInclude(everywhere, trace)
    // the caller is there all the same, by one name in limits, queue, facts, log and console
    assert.match(everywhere, /vg:\{h[A-Za-z0-9_-]{16}\}:log/)
    assert.match(everywhere, /vg:ip:ipapi\.is:h[A-Za-z0-9_-]{16}/)
    assert.match(everywhere, /"address":"h[A-Za-z0-9_-]{16}"/)
  })

  it("must hash to write no address: a gate that does not hash shows them", async () => {
    const { everywhere } = await run("plain")
    for (const trace of TRACES) assert.include(everywhere, trace)
  })
})
