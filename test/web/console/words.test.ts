/** Why callers wait, in the words of the console. */
import { describe, expect, it } from "vitest"
import type { Queue } from "../../../src/operator/shapes.ts"
import { chosenTime, stateOf, whyWaiting } from "../../../src/web/console/words.ts"

const NOW = 1_000_000

const queue: Queue = {
  waiting: 2,
  present: 2,
  held: 1,
  live: 1,
  averageMillis: 0,
  backoffUntil: 0,
  disrupted: false,
  probeUntil: 0,
  doubts: 0,
  paused: false,
  draining: false,
  accepted: 3,
  firstAcceptedAt: NOW - 1_000,
  slotPage: [],
  waitingPage: [],
}

describe("why callers wait", () => {
  it.each<readonly [Partial<Queue>, string]>([
    [{ waiting: 0, paused: true }, ""],
    [{ paused: true, held: 2, backoffUntil: NOW + 1 }, "Callers are waiting because calls are paused."],
    [{ disrupted: true, probeUntil: NOW + 1 }, "Callers are waiting because the platform is unreachable."],
    [{ backoffUntil: NOW + 1, held: 2 }, "Callers are waiting because the platform is at capacity."],
    [{ backoffUntil: NOW, held: 2 }, "Callers are waiting because all slots are in use."],
    [
      { account: { held: 3, cap: 4, reserved: 0, free: 0 } },
      "Callers are waiting because the other calls of the account are in use or reserved.",
    ],
    [{ account: { held: 3, cap: 4, reserved: 0, free: 1 } }, "The next caller is being called."],
    [{ present: 0 }, "No waiting caller is present."],
    [{}, "The next caller is being called."],
  ])("%j: %s", (change, words) => {
    expect(whyWaiting({ ...queue, ...change }, 2, NOW)).toBe(words)
  })
})

describe("the state of a campaign", () => {
  it("says when a pause ends, if it ends by itself", () => {
    const paused = { ...queue, paused: true }
    expect(stateOf(paused, NOW).meaning).toBe("New callers wait; no one is called.")
    expect(stateOf({ ...paused, pausedUntil: NOW + 60_000 }, NOW).meaning).toBe(
      `New callers wait; no one is called. The pause ends on ${chosenTime(NOW + 60_000)}.`,
    )
  })
})
