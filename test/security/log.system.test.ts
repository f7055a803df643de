/** External text in the gate's log: the platform's message when it refuses. */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { makeBench, runProgram, settingsFor } from "../harness/gate.ts"
import { eventually } from "../harness/process.ts"
import { startPlatform } from "../harness/servers.ts"

const FORGED = '{"time":"2026-01-01T00:00:00.000Z","method":"GET","path":"/forged","status":200,"outcome":"forged"}'

describe("the platform's words in the log", () => {
  const bench = makeBench()
  afterAll(bench.dispose)

  it("are on one line of their own, whatever they contain", async () => {
    const ends = ["\n", "\r\n", "\r", "\u0085", "\u2028", "\u2029", "\u001b[2K\u001b[1A"]
    // a gate each: after a refusal a campaign starts nothing for a while
    await Promise.all(
      ends.map(async (end) => {
        const platform = bench.own(await startPlatform())
        const gate = await bench.gate(settingsFor(platform))
        platform.script = () => ({
          status: 403,
          body: { code: `NO${end}${FORGED}`, message: `no call${end}${FORGED}` },
        })
        await gate.call()
        await eventually("it is logged", () => gate.output().includes("no call"))
        for (const line of gate.output().split(/[\n\r\u0085\u2028\u2029]/)) {
          assert.isFalse(line.startsWith(FORGED), line)
          assert.notMatch(line, /[\p{Cc}]/u)
        }
      }),
    )
  })
})

describe("the output of a gate that is no terminal", () => {
  const bench = makeBench()
  afterAll(bench.dispose)

  const linesOf = (output: string) =>
    output
      .split("\n")
      .filter((line) => line !== "")
      .map((line): Readonly<Record<string, unknown>> => JSON.parse(line))

  it("is one JSON object a line, each with its time, level and message", async () => {
    const platform = bench.own(await startPlatform())
    const gate = await bench.gate(settingsFor(platform))
    await gate.call()
    await eventually("the request is logged", () => gate.output().includes('"message":"request"'))
    gate.kill("SIGTERM")
    await gate.exit
    const lines = linesOf(gate.output())
    for (const { level, message, time } of lines) {
      assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      assert.match(String(level), /^(debug|info|warn|error|fatal)$/)
      assert.isString(message)
    }
    // what check would find is among them
    assert.isTrue(lines.some(({ level, message }) => level === "error" && /BaseUrl/.test(String(message))))
  })

  it("is one JSON object a line too when the gate cannot start", async () => {
    const { code, output } = await runProgram(["serve"], { Queue__MaxLength: "many" })
    assert.strictEqual(code, 1)
    const [line, ...more] = linesOf(output)
    assert.deepStrictEqual([line?.level, more], ["fatal", []])
    assert.include(String(line?.message), "Queue.MaxLength")
  })
})
