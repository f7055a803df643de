/** What a turn of the event loop leaves to its end, and in which order it is done. */
import { setImmediate as turn } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { atEndOfTurn } from "../src/turn.ts"

describe("the end of a turn", () => {
  it("decides, then sends, then answers, each in the order in which it was asked for", async () => {
    const done: Array<string> = []
    const ask = (stage: Parameters<typeof atEndOfTurn>[0], name: string) => atEndOfTurn(stage, () => done.push(name))
    ask("answer", "answer 1")
    ask("decide", "decide 1")
    ask("send", "send 1")
    ask("decide", "decide 2")
    ask("answer", "answer 2")
    assert.deepStrictEqual(done, [])
    await turn()
    assert.deepStrictEqual(done, ["decide 1", "decide 2", "send 1", "answer 1", "answer 2"])
  })

  it("does what a stage asks of a later one at once, of itself or an earlier one in the next turn", async () => {
    const done: Array<string> = []
    atEndOfTurn("send", () => {
      done.push("send")
      atEndOfTurn("answer", () => done.push("answer"))
      atEndOfTurn("send", () => done.push("sent again"))
      atEndOfTurn("decide", () => done.push("decided again"))
    })
    await turn()
    assert.deepStrictEqual(done, ["send", "answer"])
    await turn()
    assert.deepStrictEqual(done, ["send", "answer", "decided again", "sent again"])
  })

  it("loses no other's work when one throws, which is uncaught", async () => {
    const others = process.listeners("uncaughtException")
    const uncaught: Array<unknown> = []
    process.removeAllListeners("uncaughtException")
    process.on("uncaughtException", (error) => uncaught.push(error))
    try {
      const done: Array<string> = []
      const fault = new Error("fault")
      atEndOfTurn("decide", () => {
        throw fault
      })
      atEndOfTurn("decide", () => done.push("decided"))
      atEndOfTurn("answer", () => done.push("answered"))
      await turn()
      await turn()
      assert.deepStrictEqual(done, ["decided", "answered"])
      assert.deepStrictEqual(uncaught, [fault])
      atEndOfTurn("send", () => done.push("sent"))
      await turn()
      assert.deepStrictEqual(done, ["decided", "answered", "sent"])
    } finally {
      process.removeAllListeners("uncaughtException")
      for (const each of others) process.on("uncaughtException", each)
    }
  })
})
