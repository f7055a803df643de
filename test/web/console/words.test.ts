/** Why callers wait, in the words of the console. */
import { describe, expect, it } from "vitest"
import type { Queue } from "../../../src/operator/shapes.ts"
import { stateOf } from "../../../src/web/console/campaign-state.ts"
import { chosenTime, coming, moment, whyWaiting } from "../../../src/web/console/words.ts"

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
    [{ waiting: 0, held: 2 }, ""],
    // the headline says these
    [{ paused: true, held: 2, backoffUntil: NOW + 1 }, ""],
    [{ disrupted: true, held: 2 }, ""],
    [{ resumesAt: NOW, budgets: ["month"] }, ""],
    [{ backoffUntil: NOW + 1, held: 2 }, "The platform is at capacity."],
    [{ backoffUntil: NOW, held: 2 }, "All slots are in use."],
    [{ account: { held: 3, cap: 4, reserved: 0, free: 0 } }, "The other calls of the account are in use or reserved."],
    [{ account: { held: 3, cap: 4, reserved: 0, free: 1 } }, "The next caller is being called."],
    [{ unpaid: 2, held: 2 }, "Their own budgets are used up."],
    [{ unpaid: 1, held: 2 }, "All slots are in use."],
    [{ present: 0 }, "No waiting caller is present."],
    [{}, "The next caller is being called."],
  ])("%j makes the console say: %s", (change, words) => {
    expect(whyWaiting({ ...queue, ...change }, 2, NOW)).toBe(words)
    expect(whyWaiting({ ...queue, ...change }, 2, NOW, true)).toBe("")
  })
})

describe("the state of a campaign", () => {
  const platform = {
    since: NOW - 65_000,
    startAt: NOW,
    code: "HTTP_401",
    setting: "VoiceAiPlatform.ApiSecretToken",
  } as const
  const headline = (change: Partial<Queue>): string => {
    const { meaning, title } = stateOf({ ...queue, ...change }, NOW)
    return `${title}: ${meaning}`
  }

  it("names the budget that callers wait for, and says by when calls resume", () => {
    expect(headline({ resumesAt: NOW, budgets: ["month"] })).toBe(
      `Waiting for a budget: Callers wait because the budget month is used up: until ${coming(NOW, NOW)}, or until it has more again.`,
    )
    expect(headline({ resumesAt: NOW })).toContain("because a budget is used up")
  })

  it("names the code when the platform refuses the campaign", () => {
    expect(headline({ disrupted: true, platform: { ...platform, state: "rejected" } })).toBe(
      "Platform refuses calls: The platform refuses this campaign (HTTP_401). " +
        "Everyone keeps their place. Callers are tried one at a time until the platform responds. This has lasted for 1:05.",
    )
    expect(headline({ draining: true, disrupted: true, platform: { ...platform, state: "rejected" } })).toMatch(
      /^Draining: .*The platform refuses this campaign \(HTTP_401\)\.$/,
    )
  })

  it("says that the platform is unreachable although every slot is held", () => {
    expect(headline({ held: 2, disrupted: true, platform: { ...platform, state: "unavailable" } })).toMatch(
      /^Platform unreachable: Everyone keeps their place\./,
    )
  })

  it("says that the platform is at capacity, between two starts too, once no call has started for a while", () => {
    expect(headline({ platform: { ...platform, state: "at_capacity" } })).toBe(
      "Platform at capacity: The platform has no free slot, and no call has started for 1:05. Everyone keeps their place.",
    )
    expect(headline({ platform: { ...platform, state: "rate_limited" }, backoffUntil: NOW + 2_000 })).toBe(
      "Requests limited: The platform limits the key’s requests, and no call has started for 1:05. Everyone keeps their place. Trying again in 2 s.",
    )
    const brief = { ...platform, since: NOW - 2_000, state: "at_capacity" } as const
    expect(headline({ platform: brief, backoffUntil: NOW + 2_000 })).toBe(
      "Backing off: The platform is at capacity. Trying again in 2 s.",
    )
  })

  it("says that calls are taken although the platform reports no ends of them", () => {
    expect(headline({ platform: { ...platform, state: "webhooks_missing", code: "", setting: "" } })).toBe(
      "Webhooks missing: Calls are taken, but the platform hasn’t reported the end of one for 1:05, so slots come free up to 5 minutes late.",
    )
  })

  it("says when a pause ends, if it ends by itself", () => {
    const paused = { ...queue, paused: true }
    expect(stateOf(paused, NOW).meaning).toBe("New callers wait; no one is called.")
    expect(stateOf({ ...paused, pausedUntil: NOW + 60_000 }, NOW).meaning).toBe(
      `New callers wait; no one is called. The pause ends on ${chosenTime(NOW + 60_000)} (in 1 min).`,
    )
  })
})

describe("a time", () => {
  const at = new Date(new Date().getFullYear(), 0, 5, 1, 0).getTime()
  const MINUTE = 60_000

  it("that comes says how soon, and has its year when it is another one", () => {
    expect(coming(at, at - 4.5 * MINUTE)).toBe("Jan 5, 01:00 (in 5 min)")
    expect(coming(at, at - 185 * MINUTE)).toBe("Jan 5, 01:00 (in 3 h 05 min)")
    expect(coming(at, at + MINUTE)).toBe("Jan 5, 01:00 (in 0 min)")
    expect(chosenTime(new Date(2001, 0, 5, 1, 0).getTime())).toBe("Jan 5, 2001, 01:00")
  })

  it("that was says how long ago, and its day when that is long ago", () => {
    expect(moment(at, at + 200_000)).toBe("01:00:00, 3:20 ago")
    expect(moment(at, at + 50 * 60 * MINUTE)).toBe("Jan 5, 01:00, 2 d 2 h ago")
  })
})
