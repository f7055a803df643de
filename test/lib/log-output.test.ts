/** The log's output: a program outlives what cannot be written, in bounded memory, and counts it. */
import { Writable } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { omittedLines } from "../../src/lib/log-loss.ts"
import { boundedSink, fileOutput, MAX_BACKLOG, streamOutput } from "../../src/lib/log-output.ts"

const errorOf = (code: string): Error => Object.assign(new Error(code), { code })

const lost = (reason: "backlog" | "unwritable"): number => Effect.runSync(Metric.value(omittedLines(reason))).count

const now = (): number => Date.UTC(2026, 0, 2)

describe("the output of the log", () => {
  it("goes on after a full disk: it counts what was lost, ends a line that was cut, and says how many lines are missing", () => {
    let text = ""
    let room = 1_000
    const disk = fileOutput(1, (_, bytes) => {
      if (room === 0) throw errorOf("ENOSPC")
      const part = bytes.subarray(0, room)
      room -= part.length
      text += Buffer.from(part).toString()
      return part.length
    })
    const write = boundedSink(disk, "json", { pid: 7 }, now)
    const before = lost("unwritable")
    write('{"n":1}\n')
    room = 4
    write('{"n":2}\n{"n":3}\n')
    write('{"n":4}\n')
    assert.strictEqual(lost("unwritable") - before, 3)
    room = 1_000
    write('{"n":5}\n')
    write('{"n":6}\n')
    const [first, cut, notice = "", ...rest] = text.split("\n")
    assert.deepStrictEqual([first, cut, ...rest], ['{"n":1}', '{"n"', '{"n":5}', '{"n":6}', ""])
    assert.deepInclude(JSON.parse(notice), {
      level: "warn",
      message: "lines of the log left out",
      count: 3,
      why: "the log could not be written: ENOSPC",
      pid: 7,
    })
  })

  it("keeps a bounded backlog for a reader that does not read, and counts the lines beyond", () => {
    const held: Array<() => void> = []
    let text = ""
    const pipe = new Writable({
      decodeStrings: false,
      highWaterMark: 1,
      write: (chunk, _, done) => {
        text += String(chunk)
        held.push(done)
      },
    })
    const output = streamOutput(pipe)
    const write = boundedSink(output, "json", {}, now)
    const before = lost("backlog")
    const line = `${"x".repeat(999)}\n`
    for (let n = 0; n < 3_000; n++) write(line)
    assert.isAtMost(pipe.writableLength, MAX_BACKLOG)
    assert.strictEqual(lost("backlog") - before, 3_000 - Math.floor(MAX_BACKLOG / line.length))
    assert.isAtMost(text.length, MAX_BACKLOG)
  })

  it("outlives a pipe whose reader has gone, and counts every further line", async () => {
    const pipe = new Writable({ write: (_, __, done) => done(errorOf("EPIPE")) })
    const write = boundedSink(streamOutput(pipe), "json", {}, now)
    const before = lost("unwritable")
    write("1\n")
    await new Promise(setImmediate)
    write("2\n3\n")
    await new Promise(setImmediate)
    assert.strictEqual(lost("unwritable") - before, 3)
  })
})
