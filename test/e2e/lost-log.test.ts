/** A gate outlives its log: a closed pipe, a full disk, and a reader that does not read cost lines, which a metric counts. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { openSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { program, whenBuilt } from "../harness/build.ts"
import { type Bench, settingsFor, withBench } from "../harness/gate.ts"
import { ask } from "../harness/http.ts"
import { eventually, freePort } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startPlatform } from "../harness/servers.ts"

/** Starts a gate whose output goes to this descriptor, or to a pipe that is not read. */
const startGate = async (bench: Bench, stdout: number | "pipe", args: ReadonlyArray<string> = []) => {
  await whenBuilt()
  const platform = bench.own(await startPlatform())
  const redis = bench.own(await startRedis())
  const port = await freePort()
  const child = spawn(process.execPath, [program, "serve", ...args], {
    cwd: "/",
    env: {
      PATH: process.env.PATH ?? "",
      ...settingsFor(platform, { StoreConnectionString: redis.url, Server__Port: String(port) }),
    },
    stdio: ["ignore", stdout, "ignore"],
  })
  const exit = once(child, "exit")
  bench.own({
    dispose: async () => {
      child.kill("SIGKILL")
      await exit
    },
  })
  const url = `http://127.0.0.1:${port}`
  const call = () => ask("POST", `${url}/api/session/request`, { body: {} })
  await eventually("the gate is ready", async () => (await ask("GET", `${url}/health/ready`)).status === 200, 45_000)
  const omitted = async (reason: string): Promise<number> => {
    const { text } = await ask("GET", `${url}/metrics`)
    return Number(new RegExp(`^voicegate_log_lines_omitted_total\\{reason="${reason}"\\} (\\d+)$`, "m").exec(text)?.[1])
  }
  return { call, child, exit, omitted }
}

describe("a gate whose log cannot be written", () => {
  for (const args of [[], ["--processes", "2"]]) {
    const named = args.length === 0 ? "" : ` with ${args.join(" ")}`
    it(
      `serves on when the reader of its output has gone, counts the lines, and stops as usual${named}`,
      withBench(async (bench) => {
        const { call, child, exit, omitted } = await startGate(bench, "pipe", args)
        child.stdout?.destroy()
        await eventually("lines are lost", async () => {
          assert.include([200, 202], (await call()).status)
          return (await omitted("unwritable")) > 1
        })
        child.kill("SIGTERM")
        assert.deepStrictEqual(await exit, [0, null])
      }),
    )
  }

  it(
    "serves on when its disk is full, counts the lines, and stops as usual",
    withBench(async (bench) => {
      const { call, child, exit, omitted } = await startGate(bench, openSync("/dev/full", "w"))
      assert.strictEqual((await call()).status, 200)
      await eventually("lines are lost", async () => (await omitted("unwritable")) > 1)
      child.kill("SIGTERM")
      assert.deepStrictEqual(await exit, [0, null])
    }),
  )
})

describe("a command whose output cannot be written", () => {
  it("fails and says so when the disk is full", async () => {
    await whenBuilt()
    const child = spawn(process.execPath, [program, "settings"], {
      stdio: ["ignore", openSync("/dev/full", "w"), "pipe"],
    })
    let said = ""
    child.stderr?.on("data", (chunk) => {
      said += String(chunk)
    })
    assert.deepStrictEqual(await once(child, "close"), [1, null])
    assert.strictEqual(said, "The output could not be written: ENOSPC\n")
  })

  it("ends quietly when its reader wants no more", async () => {
    await whenBuilt()
    const child = spawn(
      "bash",
      ["-c", `set -o pipefail; "${process.execPath}" "${program}" settings --help | head -1; sleep 0`],
      {
        stdio: ["ignore", "pipe", "pipe"],
      },
    )
    let said = ""
    child.stderr?.on("data", (chunk) => {
      said += String(chunk)
    })
    child.stdout?.resume()
    assert.deepStrictEqual(await once(child, "close"), [0, null])
    assert.strictEqual(said, "")
  })
})
