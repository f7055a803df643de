/** How the places for concurrent deliveries are shared among users whose receivers never answer. */
import { describe, expect, it } from "vitest"
import { isBusy, MAX_CONCURRENT_DELIVERIES } from "../../../src/platform/webhooks/deliver.ts"

describe("concurrent deliveries", () => {
  it("leave a place for another user, whatever five users with silent receivers hold", () => {
    const held = [0, 0, 0, 0, 0]
    const total = () => held.reduce((sum, each) => sum + each, 0)
    for (let user = 0; user < held.length; user++) {
      while (!isBusy(held[user] ?? 0, total())) held[user] = (held[user] ?? 0) + 1
    }
    expect(total()).toBeLessThan(MAX_CONCURRENT_DELIVERIES)
    expect(isBusy(0, total())).toBe(false)
    // one user alone gets half of them
    expect(held[0]).toBe(MAX_CONCURRENT_DELIVERIES / 2)
  })
})
