/** Work that is queued for the end of an event loop tick: its phases and their order. */
import { setImmediate as turn } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { runInPhase } from "../../src/lib/tick-phases.ts"

describe("the end of a tick", () => {
  it("decides, then sends, then answers, each in the order in which it was queued", async () => {
    const done: Array<string> = []
    const ask = (stage: Parameters<typeof runInPhase>[0], name: string) => runInPhase(stage, () => done.push(name))
    ask("answer", "answer 1")
    ask("decide", "decide 1")
    ask("send", "send 1")
    ask("decide", "decide 2")
    ask("answer", "answer 2")
    assert.deepStrictEqual(done, [])
    await turn()
    assert.deepStrictEqual(done, ["decide 1", "decide 2", "send 1", "answer 1", "answer 2"])
  })

  it("runs work that is queued for a later phase at once, and for the same or an earlier one in the next tick", async () => {
    const done: Array<string> = []
    runInPhase("send", () => {
      done.push("send")
      runInPhase("answer", () => done.push("answer"))
      runInPhase("send", () => done.push("sent again"))
      runInPhase("decide", () => done.push("decided again"))
    })
    await turn()
    assert.deepStrictEqual(done, ["send", "answer"])
    await turn()
    assert.deepStrictEqual(done, ["send", "answer", "decided again", "sent again"])
  })

  it("runs the remaining work when one piece throws, and reports it as an uncaught exception", async () => {
    const others = process.listeners("uncaughtException")
    const uncaught: Array<unknown> = []
    process.removeAllListeners("uncaughtException")
    process.on("uncaughtException", (error) => uncaught.push(error))
    try {
      const done: Array<string> = []
      const fault = new Error("fault")
      runInPhase("decide", () => {
        throw fault
      })
      runInPhase("decide", () => done.push("decided"))
      runInPhase("answer", () => done.push("answered"))
      await turn()
      await turn()
      assert.deepStrictEqual(done, ["decided", "answered"])
      assert.deepStrictEqual(uncaught, [fault])
      runInPhase("send", () => done.push("sent"))
      await turn()
      assert.deepStrictEqual(done, ["decided", "answered", "sent"])
    } finally {
      process.removeAllListeners("uncaughtException")
      for (const each of others) process.on("uncaughtException", each)
    }
  })
})
