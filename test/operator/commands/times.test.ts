/** Times on the command line, as they arrive at a gate. */
import { createServer } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { durationOf } from "../../../src/operator/commands/times.ts"
import { runCommand } from "../../harness/command.ts"
import { freePort } from "../../harness/process.ts"

/** Runs a redelivery at a gate that notes from when on it is asked to send events again. */
const redeliver = async (...since: ReadonlyArray<string>) => {
  const from: Array<number> = []
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk) => {
      body += String(chunk)
    })
    request.on("end", () => {
      from.push(Number(JSON.parse(body).redelivery.from))
      response.end(JSON.stringify({ queued: 2, result: "queued" }))
    })
  })
  const port = await freePort()
  await new Promise<void>((listening) => server.listen(port, "127.0.0.1", listening))
  try {
    const ended = await runCommand(["events", "redeliver", "default", "--yes", ...since], {
      Security__ConsoleToken: "a-console-token-0123456789",
      Server__Host: "127.0.0.1",
      Server__Port: String(port),
    })
    return { ...ended, from }
  } finally {
    server.close()
  }
}

describe("events redeliver --since", () => {
  it.each([
    [["--since", "-1h"], 3_600_000],
    [["--since=-30m"], 1_800_000],
    [["--since", "-2d", "--json"], 172_800_000],
  ] as const)("takes %j as how long ago", async (args, millis) => {
    const { code, from, output } = await redeliver(...args)
    assert.strictEqual(code, 0, output)
    assert.approximately(from[0] ?? 0, Date.now() - millis, 30_000)
  })

  it("takes a time with its zone, and all events without a time", async () => {
    assert.deepStrictEqual((await redeliver("--since", "2026-11-24T14:00+01:00")).from, [
      Date.parse("2026-11-24T13:00:00Z"),
    ])
    assert.deepStrictEqual((await redeliver()).from, [0])
  })

  it.each(["-1", "-1y", "1h", "+1h", "-0h", "yesterday", "14:00", "2026-11-24T14:00"])(
    "refuses %s, names the forms that it takes, and asks no gate",
    async (text) => {
      const { code, from, output } = await redeliver("--since", text)
      assert.strictEqual(code, 2, output)
      assert.include(
        output,
        "Expected -1h for an hour ago (m, h, d or w), or a time with its zone, such as 2026-11-24T14",
      )
      assert.deepStrictEqual(from, [])
    },
  )
})

describe("a duration", () => {
  it("has a number above 0 and a unit", () => {
    const millisOf = (text: string) => Option.getOrUndefined(durationOf(text))
    assert.deepStrictEqual(["30m", "1h", "1d", "2w", "0h", "1", "h", "-1h", "1s"].map(millisOf), [
      1_800_000,
      3_600_000,
      86_400_000,
      1_209_600_000,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })
})
