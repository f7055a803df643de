/** A caller is followed through the logs of two instances by the ticket's hash, from the request to the end of the call. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { settingsFor, withBench } from "../harness/gate.ts"
import { textOf } from "../harness/http.ts"
import { eventually } from "../harness/process.ts"
import { startRedis } from "../harness/redis.ts"
import { startPlatform } from "../harness/servers.ts"
import { openSocket } from "./support/push.ts"

interface Line {
  readonly time: string
  readonly message: string
  readonly pid: number
  readonly outcome?: string
  readonly campaign?: string
  readonly ticket?: string
  readonly annotations?: { readonly campaign?: string; readonly ticket?: string; readonly state?: string }
}

const linesOf = (output: string): ReadonlyArray<Line> =>
  output
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line): Line => JSON.parse(line))

const hashOf = (ticket: string): string => createHash("sha1").update(ticket).digest("hex").slice(0, 10)

describe("the logs of two instances, one of them with two processes", () => {
  it(
    "show a caller's way by the ticket's hash, and each line its process",
    withBench(async ({ gate, own }) => {
      const platform = own(await startPlatform())
      const redis = own(await startRedis())
      const given = settingsFor(platform, { StoreConnectionString: redis.url })
      const one = await gate(given)
      const two = await gate(given, ["--processes", "2"])
      await eventually("both listen", () => two.output().split("listens at").length === 3)
      const first = textOf(await one.call(), "sessionId")
      const answer = await one.call()
      const ticket = textOf(answer, "uniqueRequestId")
      const socket = own(await openSocket(two, ticket))
      await socket.sees("position")
      assert.deepStrictEqual((await one.sessionEnded(first)).json, { released: true })
      await socket.sees("start_call")
      socket.send({ type: "start" })
      const { sessionId } = await socket.sees("session")
      assert.deepStrictEqual((await one.sessionEnded(String(sessionId))).json, { released: true })
      const about = () =>
        [...linesOf(one.output()), ...linesOf(two.output())]
          .filter((line) => (line.ticket ?? line.annotations?.ticket) === hashOf(ticket))
          .toSorted((a, b) => (a.time < b.time ? -1 : 1))
      await eventually("all is logged", () => about().length >= 5)
      assert.sameMembers(
        about().map(({ annotations, message, outcome }) => `${message} ${outcome ?? annotations?.state ?? ""}`.trim()),
        ["request queued", "request upgraded", "ticket called", "ticket started", "ticket over ended"],
      )
      for (const line of about()) assert.strictEqual(line.campaign ?? line.annotations?.campaign, "default")
      const pids = new Set(linesOf(two.output()).map(({ pid }) => pid))
      assert.isTrue([...pids].every((pid) => Number.isInteger(pid)))
      assert.isAtLeast(pids.size, 2)
    }),
  )
})
