/** The pauses between attempts, without a browser: what listens must not stay. */
import { getEventListeners } from "node:events"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { type Page, pauseFor } from "../../../../src/web/widget/gate/retry.ts"

describe("a pause between attempts", () => {
  let page: EventTarget & Page

  beforeEach(() => {
    vi.useFakeTimers()
    page = Object.assign(new EventTarget(), {
      setTimeout: (run: () => void, millis: number) => setTimeout(run, millis),
    })
  })

  afterEach(() => {
    vi.useRealTimers()
  })

  const listeners = (signal: AbortSignal): number =>
    getEventListeners(signal, "abort").length + getEventListeners(page, "online").length

  it("leaves no listener behind, however long its signal lives", async () => {
    const { signal } = new AbortController()
    for (let attempt = 0; attempt < 3; attempt++) {
      const pause = pauseFor(page, 2_000, signal)
      expect(listeners(signal)).toBe(2)
      await vi.advanceTimersByTimeAsync(2_000)
      await pause
      expect(listeners(signal)).toBe(0)
    }
  })

  it.each([
    ["the network is back", (): unknown => page.dispatchEvent(new Event("online"))],
    ["its signal aborts", (visit: AbortController): void => visit.abort()],
    ["the visitor taps", (_: AbortController, tap: () => void): void => tap()],
  ])("ends when %s", async (_, end) => {
    const visit = new AbortController()
    let tap = (): void => {}
    const pause = pauseFor(page, 30_000, visit.signal, (given) => {
      tap = given
    })
    end(visit, tap)
    await pause
    expect(listeners(visit.signal)).toBe(0)
  })
})
