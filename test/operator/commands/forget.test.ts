/** What the command that forgets a caller prints. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { forgetCaller } from "../../../src/operator/commands/forget.ts"
import type { ForgetRequest, Forgotten } from "../../../src/operator/forgotten.ts"

const page = (more: Partial<Forgotten> = {}): Forgotten => ({
  reference: "0123abcd",
  dryRun: true,
  found: [],
  kept: [],
  unreached: ["logs"],
  ...more,
})

const client = (answers: ReadonlyArray<Forgotten>) => {
  const asked: Array<ForgetRequest> = []
  return {
    asked,
    forget: (request: ForgetRequest) =>
      Effect.sync(() => {
        asked.push(request)
        return answers[asked.length - 1] ?? assert.fail("asked too often")
      }),
  }
}

describe("the command that forgets a caller", () => {
  it.effect("adds up what several requests find, and says what is kept and what is not reached", () =>
    Effect.gen(function* () {
      const gate = client([
        page({ found: [{ place: "events", campaign: "de\u001bfault", count: 2 }], next: "0123abcd events 7 a/b" }),
        page({
          found: [
            { place: "events", campaign: "de\u001bfault", count: 3 },
            { place: "limits", count: 1 },
          ],
          kept: [{ place: "waiting", campaign: "default", count: 1 }],
        }),
      ])
      const { document, lines, ok } = yield* forgetCaller(gate, { subject: "ada", dryRun: true })
      assert.isTrue(ok)
      assert.deepStrictEqual(
        lines.map((line) => line.replace(/ +/g, " ")),
        [
          "Found:",
          " events, delivered de?fault 5",
          " units of limits 1",
          "Kept:",
          " waits default 1",
          "A ticket that waits or is in a call goes on. Run this again ten minutes after it is over.",
          "Not reached:",
          " logs",
          "Nothing was removed. To remove what was found, add --yes.",
        ],
      )
      assert.deepStrictEqual(gate.asked, [
        { subject: "ada", dryRun: true },
        { subject: "ada", dryRun: true, from: "0123abcd events 7 a/b" },
      ])
      assert.notProperty(document, "next")
    }),
  )

  it.effect("names the order as the audit log does, and asks nothing for a wrong one", () =>
    Effect.gen(function* () {
      const gate = client([page({ dryRun: false })])
      const { lines } = yield* forgetCaller(gate, { address: "192.0.2.1", dryRun: false })
      assert.deepStrictEqual(lines, [
        "Nothing was found.",
        "Not reached:",
        "  logs",
        "The audit log calls this order 0123abcd.",
      ])
      const wrong = yield* Effect.flip(forgetCaller(gate, { dryRun: true }))
      assert.strictEqual(wrong.message, "Expected --subject or --address, and not both.")
      assert.lengthOf(gate.asked, 1)
    }),
  )
})
