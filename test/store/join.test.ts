/** Which calls are sent together, and who gets which reply. */
import { setImmediate as turn } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import type { Script } from "../../src/Store.ts"
import { type Done, MOST, makeJoin } from "../../src/store/join.ts"

const script = (joins?: Script["joins"]): Script => ({
  name: "test",
  numberOfKeys: 1,
  lua: "",
  memory: () => 0,
  ...(joins === undefined ? {} : { joins }),
})

/** A store that keeps what it was sent, to be answered later. */
const bench = (cluster = false) => {
  const sent: Array<{ keys: ReadonlyArray<string>; args: ReadonlyArray<string | number>; done: Done }> = []
  const run = makeJoin((_, keys, args, done) => sent.push({ keys, args, done }), cluster)
  const replies: Array<unknown> = []
  const ask = (asked: Script, keys: ReadonlyArray<string>, args: ReadonlyArray<string | number>): void => {
    const place = replies.push("none") - 1
    run(asked, keys, args, (error, reply) => {
      replies[place] = error ?? reply
    })
  }
  return { ask, replies, sent }
}

describe("calls of one turn", () => {
  const shared = script({ own: [1], times: [3], ownKeys: 0 })
  const apart = script({ own: [1], times: [], ownKeys: 1 })

  it("are one command when only their own arguments differ, and get a reply each", async () => {
    const { ask, replies, sent } = bench()
    for (const name of ["a", "b", "c"]) ask(shared, ["k"], [7, name, 9])
    assert.lengthOf(sent, 0)
    await turn()
    assert.deepStrictEqual(
      sent.map(({ args, keys }) => [keys, args]),
      [[["k"], [7, "a", 9, "b", "c"]]],
    )
    sent[0]?.done(undefined, ["A", "B", "C"])
    assert.deepStrictEqual(replies, ["A", "B", "C"])
  })

  it("take the first one's time", async () => {
    const { ask, sent } = bench()
    ask(shared, ["k"], [7, "a", 9, 1_000])
    ask(shared, ["k"], [7, "b", 9, 1_001])
    await turn()
    assert.deepStrictEqual(
      sent.map(({ args }) => args),
      [[7, "a", 9, 1_000, "b"]],
    )
  })

  it("all fail when their command fails", async () => {
    const { ask, replies, sent } = bench()
    for (const name of ["a", "b"]) ask(shared, ["k"], [7, name, 9])
    await turn()
    const lost = new Error("lost")
    sent[0]?.done(lost)
    assert.deepStrictEqual(replies, [lost, lost])
  })

  it("are commands of their own, in their order, when another argument or the keys differ", async () => {
    const { ask, sent } = bench()
    ask(shared, ["k"], [7, "a", 9])
    ask(shared, ["k"], [8, "b", 9])
    ask(shared, ["other"], [8, "c", 9])
    ask(shared, ["other"], [8, "d", 9])
    await turn()
    assert.deepStrictEqual(
      sent.map(({ args }) => args),
      [
        [7, "a", 9],
        [8, "b", 9],
        [8, "c", 9, "d"],
      ],
    )
  })

  it("bring their keys, except on a cluster, where only calls with the same keys meet", async () => {
    const single = bench()
    const cluster = bench(true)
    for (const { ask } of [single, cluster]) {
      ask(apart, ["x"], [7, "a"])
      ask(apart, ["x"], [7, "b"])
      ask(apart, ["y"], [7, "c"])
    }
    await turn()
    assert.deepStrictEqual(
      single.sent.map(({ args, keys }) => [keys, args]),
      [
        [
          ["x", "x", "y"],
          [7, "a", "b", "c"],
        ],
      ],
    )
    assert.deepStrictEqual(
      cluster.sent.map(({ args, keys }) => [keys, args]),
      [
        [
          ["x", "x"],
          [7, "a", "b"],
        ],
        [["y"], [7, "c"]],
      ],
    )
  })

  it(`are sent as soon as there are ${MOST}`, async () => {
    const { ask, sent } = bench()
    for (let n = 0; n < MOST + 1; n++) ask(shared, ["k"], [7, `t${n}`])
    assert.lengthOf(sent, 1)
    await turn()
    assert.deepStrictEqual(
      sent.map(({ args }) => args.length),
      [MOST + 1, 2],
    )
  })

  it("are sent at once when their script takes one call", () => {
    const { ask, sent } = bench()
    ask(script(), ["k"], [1])
    ask(script(), ["k"], [1])
    assert.lengthOf(sent, 2)
  })
})
