/** Which calls are batched, and which reply each gets. */
import { setImmediate as turn } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { type Done, MAX_CALLS_PER_COMMAND, makeBatcher, type SentRule } from "../../../src/store/redis/batch.ts"

/** A store that records commands and answers them later. */
const bench = (cluster = false) => {
  const sent: Array<{ keys: ReadonlyArray<string>; args: ReadonlyArray<string>; done: Done }> = []
  const run = makeBatcher((_, keys, args, done) => sent.push({ keys, args, done }), cluster)
  const replies: Array<unknown> = []
  const ask = (rule: SentRule, now: number, call: object, context: object = ONE, key = "k", own?: string): void => {
    const place = replies.push("none") - 1
    const ownKeys = own === undefined ? {} : { ownKeys: [own] }
    run(rule, { keys: [key], ...ownKeys, now, context, call }, (error, reply) => {
      replies[place] = error ?? reply
    })
  }
  return { ask, replies, sent }
}

const ONE = { context: 1 }
const batched: SentRule = { name: "test", lua: "", batch: true }
const single: SentRule = { ...batched, batch: false }

describe("calls in one tick", () => {
  it("are one command with their keys and context, and each gets its own answer", async () => {
    const { ask, replies, sent } = bench()
    for (const name of ["a", "b", "c"]) ask(batched, 7, { name })
    assert.lengthOf(sent, 0)
    await turn()
    assert.deepStrictEqual(
      sent.map(({ args, keys }) => [keys, args]),
      [[["k"], ["7", '{"context":1}', '{"name":"a"}', "", '{"name":"b"}', "", '{"name":"c"}', ""]]],
    )
    sent[0]?.done(undefined, '["A",{"b":[1]},false]')
    assert.deepStrictEqual(replies, ["A", { b: [1] }, false])
  })

  it("have their data beside the JSON, as it is", async () => {
    const { ask, sent } = bench()
    ask(batched, 7, { id: "a", data: '{"name":"Ada \\ud800"}' })
    ask(batched, 7, { id: "\ud800", data: "" })
    await turn()
    assert.deepStrictEqual(
      sent.map(({ args }) => args.slice(2)),
      [['{"id":"a"}', '{"name":"Ada \\ud800"}', '{"id":"\ufffd"}', ""]],
    )
  })

  it("have each text of their rule as an argument, in the rule's order", async () => {
    const { ask, sent } = bench()
    const texts = ["id", "origin"]
    ask({ ...batched, texts }, 7, { origin: '{"caller":"\\ud800"}', id: "a" })
    ask({ ...batched, name: "other", texts }, 7, { n: 1, none: undefined, data: "d", id: "b" })
    await turn()
    assert.deepStrictEqual(
      sent.map(({ args }) => args.slice(2)),
      [
        ["{}", "a", '{"caller":"\\ud800"}'],
        ['{"n":1,"data":"d"}', "b", ""],
      ],
    )
  })

  it("run at the time of the first one", async () => {
    const { ask, sent } = bench()
    ask(batched, 1_000, { name: "a" })
    ask(batched, 1_001, { name: "b" })
    await turn()
    assert.deepStrictEqual(
      sent.map(({ args }) => args),
      [["1000", '{"context":1}', '{"name":"a"}', "", '{"name":"b"}', ""]],
    )
  })

  it("all fail when their command fails", async () => {
    const { ask, replies, sent } = bench()
    for (const name of ["a", "b"]) ask(batched, 7, { name })
    await turn()
    const lost = new Error("lost")
    sent[0]?.done(lost)
    assert.deepStrictEqual(replies, [lost, lost])
  })

  it("are separate commands, in order, when the rule, the context or the keys differ", async () => {
    const { ask, sent } = bench()
    const other = { context: 2 }
    ask(batched, 7, { name: "a" })
    ask(batched, 7, { name: "b" }, other)
    ask(batched, 7, { name: "c" }, other, "other")
    ask(batched, 7, { name: "d" }, other, "other")
    ask({ ...batched, name: "test.other" }, 7, { name: "e" }, other, "other")
    await turn()
    assert.deepStrictEqual(
      sent.map(({ args, keys }) => [keys, args]),
      [
        [["k"], ["7", '{"context":1}', '{"name":"a"}', ""]],
        [["k"], ["7", '{"context":2}', '{"name":"b"}', ""]],
        [["other"], ["7", '{"context":2}', '{"name":"c"}', "", '{"name":"d"}', ""]],
        [["other"], ["7", '{"context":2}', '{"name":"e"}', ""]],
      ],
    )
  })

  it("share a command although their own keys differ, except on a cluster", async () => {
    const one = bench()
    const cluster = bench(true)
    for (const { ask } of [one, cluster]) {
      ask(batched, 7, { name: "a" }, ONE, "k", "x")
      ask(batched, 7, { name: "b" }, ONE, "k", "x")
      ask(batched, 7, { name: "c" }, ONE, "k", "y")
      // a call without an own key does not fit into this batch
      ask(batched, 7, { name: "d" })
    }
    await turn()
    const sentBy = ({ sent }: ReturnType<typeof bench>) => sent.map(({ args, keys }) => [keys, args.slice(2)])
    assert.deepStrictEqual(sentBy(one), [
      [
        ["k", "x", "x", "y"],
        ['{"name":"a"}', "", '{"name":"b"}', "", '{"name":"c"}', ""],
      ],
      [["k"], ['{"name":"d"}', ""]],
    ])
    assert.deepStrictEqual(sentBy(cluster), [
      [
        ["k", "x", "x"],
        ['{"name":"a"}', "", '{"name":"b"}', ""],
      ],
      [
        ["k", "y"],
        ['{"name":"c"}', ""],
      ],
      [["k"], ['{"name":"d"}', ""]],
    ])
  })

  it(`are sent as soon as there are ${MAX_CALLS_PER_COMMAND}`, async () => {
    const { ask, sent } = bench()
    for (let n = 0; n < MAX_CALLS_PER_COMMAND + 1; n++) ask(batched, 7, { name: `t${n}` })
    assert.lengthOf(sent, 1)
    await turn()
    assert.deepStrictEqual(
      sent.map(({ args }) => args.length),
      [2 + 2 * MAX_CALLS_PER_COMMAND, 2 + 2],
    )
  })

  it("are sent at once when their rule does not allow batches", () => {
    const { ask, replies, sent } = bench()
    ask(single, 1, {})
    ask(single, 1, {})
    assert.lengthOf(sent, 2)
    sent[1]?.done(undefined, '["B"]')
    sent[0]?.done(undefined, '["A"]')
    assert.deepStrictEqual(replies, ["A", "B"])
  })
})
