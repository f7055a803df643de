/** A gate with several processes that share its port (`--processes`). */
import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { runProgram, settingsFor, withBench } from "../harness/gate.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startPlatform } from "../harness/servers.ts"

/** The running child processes of a process. */
const childrenOf = (pid: number): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number)

describe("several processes on one port", () => {
  it(
    "share slots and queue, replace one that dies, and stop together",
    withBench(async ({ gate, own }) => {
      const redis = own(await startRedis())
      const platform = own(await startPlatform())
      const several = await gate(settingsFor(platform, { StoreConnectionString: redis.url }), ["--processes", "2"])
      await eventually("both listen", () => several.output().split("listens at").length === 3)
      const before = childrenOf(several.pid)
      assert.lengthOf(before, 2)

      // separate connections, so that both processes get some
      const answers = await Promise.all(Array.from({ length: 20 }, () => several.call()))
      assert.lengthOf(
        answers.filter(({ status }) => status === 200),
        1,
      )
      const places = answers
        .filter(({ status }) => status === 202)
        .map(({ json }) => Reflect.get(Object(json), "queuePosition"))
      assert.deepStrictEqual(
        places.map(Number).toSorted((a, b) => a - b),
        Array.from({ length: 19 }, (_, n) => n + 1),
      )

      // a scrape reaches one process, and shows what both have counted; the text is cached for a second
      const counts = async () => {
        const { text } = await several.ask("GET", "/metrics")
        const [started = 0, queued = 0] = ["started", "queued"].map((outcome) =>
          Number(new RegExp(`^voicegate_requests_total\\{outcome="${outcome}"\\} (\\d+)$`, "m").exec(text)?.[1]),
        )
        return { started, queued, text }
      }
      await eventually("the sum", async () => {
        const { queued, started, text } = await counts()
        return started === 1 && queued === 19 && /^process_resident_memory_bytes \d{8,}$/m.test(text)
      })

      process.kill(before[0] ?? 0, "SIGKILL")
      await eventually("a new one", () => several.output().split("listens at").length === 4)
      assert.include(several.output(), "is replaced")
      assert.strictEqual((await several.call()).status, 202)
      // Prometheus takes a sum that falls for a restart, and counts it all again
      await eventually("the sum with what the ended process counted", async () => {
        const { queued, started } = await counts()
        return started === 1 && queued === 20
      })

      several.kill("SIGTERM")
      assert.deepStrictEqual(await several.exit, { code: 0, signal: null })
    }),
  )

  it(
    "need a shared store",
    withBench(async ({ own }) => {
      const platform = own(await startPlatform())
      const { code, output } = await runProgram(["serve", "--processes", "2"], settingsFor(platform))
      assert.strictEqual(code, 1)
      assert.include(output, "--processes: Expected 1, or Redis as StoreConnectionString")
    }),
  )

  it(
    "report why they cannot serve, and exit",
    withBench(async ({ gate, own }) => {
      const redis = own(await startRedis())
      const platform = own(await startPlatform())
      const settings = settingsFor(platform, { StoreConnectionString: redis.url })
      const { url } = await gate(settings)
      const { code, output } = await runProgram(["serve", "--processes", "2"], {
        ...settings,
        Server__Port: new URL(url).port,
      })
      assert.strictEqual(code, 1)
      assert.match(output, /Server\.Port.*EADDRINUSE/)
    }),
  )
})
