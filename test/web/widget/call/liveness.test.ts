/** What a line sends late, and when it knows that nothing gets through, on synthetic time. */
import { beforeEach, describe, expect, it } from "vitest"
import type { Captured } from "../../../../src/web/widget/audio/frames.ts"
import { createLiveness, type Liveness } from "../../../../src/web/widget/call/liveness.ts"
import { hold, MAX_HELD } from "../../../../src/web/widget/call/outbox.ts"

/** Lets what was asked be answered. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Looks every quarter of a second, as the line does, and answers when it is down first; undefined if never. */
const firstDown = async (
  liveness: Liveness,
  until: number,
  each: (now: number) => void,
): Promise<number | undefined> => {
  for (let now = 250; now <= until; now += 250) {
    network.pass(now)
    await settled()
    each(now)
    if (liveness.down(now, 0) !== undefined) return now
  }
  return undefined
}

/** A network whose gate answers, or does not for two seconds. */
const makeNetwork = () => {
  const waiting: Array<{ readonly until: number; readonly resolve: (reached: boolean) => void }> = []
  let now = 0
  const made = {
    online: true,
    answers: true,
    asked: 0,
    isOnline: () => made.online,
    reachesGate: () => {
      made.asked++
      if (made.answers) return Promise.resolve(true)
      return new Promise<boolean>((resolve) => waiting.push({ until: now + 2_000, resolve }))
    },
    pass: (time: number) => {
      now = time
      for (const { resolve, until } of waiting) if (until <= now) resolve(false)
    },
  }
  return made
}
let network = makeNetwork()

beforeEach(() => {
  network = makeNetwork()
})

describe("a line to a platform that answers pings", () => {
  const pinging = (answersUntil: number) => {
    const liveness = createLiveness(network)
    liveness.startPings()
    let pings = 0
    const each = (now: number): void => {
      if (!liveness.ping(now)) return
      pings++
      if (now < answersUntil) liveness.pong(now + 30)
    }
    return { liveness, each, pings: () => pings }
  }

  it("is down at most 4 s after the answers stop, though the agent is still heard", async () => {
    const { each, liveness } = pinging(10_000)
    const down = await firstDown(liveness, 20_000, (now) => {
      each(now)
      liveness.heard(now)
    })
    expect(down).toBeGreaterThan(11_000)
    expect(down).toBeLessThanOrEqual(14_000)
  })

  it("is never down while they come, though nobody speaks, and asks the gate nothing", async () => {
    const { each, liveness, pings } = pinging(Number.POSITIVE_INFINITY)
    expect(await firstDown(liveness, 60_000, each)).toBeUndefined()
    expect(network.asked).toBe(0)
    expect(pings()).toBeGreaterThan(100)
  })

  it("holds audio back half a second after an answer is missing, and no longer than that", async () => {
    const { each, liveness } = pinging(5_000)
    let held: number | undefined
    await firstDown(liveness, 8_000, (now) => {
      each(now)
      if (liveness.isDelayed(now)) held ??= now
    })
    expect(held).toBeGreaterThan(5_000)
    expect(held).toBeLessThanOrEqual(6_000)
    liveness.pong(8_000)
    expect(liveness.isDelayed(8_001)).toBe(false)
  })

  it("is down because of the agent's service while the gate answers, and asks the gate once in each outage", async () => {
    const { each, liveness } = pinging(10_000)
    const down = await firstDown(liveness, 20_000, each)
    expect(down).toBeLessThanOrEqual(14_000)
    expect(liveness.down(20_000, 0)).toBe("agent")
    for (let now = 20_000; now <= 40_000; now += 250) liveness.down(now, 0)
    expect(network.asked).toBe(1)
    liveness.pong(40_000)
    expect(liveness.down(40_000, 0)).toBeUndefined()
    expect(liveness.ping(41_000)).toBe(true)
    liveness.down(43_000, 0)
    expect(network.asked).toBe(2)
  })

  it("is down because of the network within 5 s where the gate does not answer either", async () => {
    const { each, liveness } = pinging(10_000)
    const down = await firstDown(liveness, 20_000, (now) => {
      network.answers = now < 10_000
      each(now)
    })
    expect(down).toBeLessThanOrEqual(15_000)
    expect(liveness.down(20_000, 0)).toBe("network")
  })

  it("says nothing of either side before the gate was asked", async () => {
    network.answers = false
    const { each, liveness } = pinging(10_000)
    await firstDown(liveness, 11_500, each)
    for (let now = 11_750; now <= 20_000; now += 250) expect(liveness.down(now, 0)).toBeUndefined()
    network.pass(20_000)
    await settled()
    expect(liveness.down(20_000, 0)).toBe("network")
  })
})

describe("a line to any other platform", () => {
  it("is down at most 5 s after everything is silent, if the network is", async () => {
    const liveness = createLiveness(network)
    const down = await firstDown(liveness, 20_000, (now) => {
      network.answers = now < 10_000
      if (now < 10_000) liveness.heard(now)
    })
    expect(down).toBeGreaterThan(10_000)
    expect(down).toBeLessThanOrEqual(15_000)
    liveness.heard(20_000)
    expect(liveness.down(20_000, 0)).toBeUndefined()
  })

  it("is not down while the agent listens: the network answers", async () => {
    const liveness = createLiveness(network)
    expect(await firstDown(liveness, 60_000, () => {})).toBeUndefined()
    expect(network.asked).toBeLessThan(25)
  })

  it("asks the gate nothing while the agent speaks", async () => {
    const liveness = createLiveness(network)
    expect(await firstDown(liveness, 60_000, (now) => liveness.heard(now))).toBeUndefined()
    expect(network.asked).toBe(0)
  })

  it("is down because of the network where it is silent and the gate does not answer, and up when the gate answers", async () => {
    const liveness = createLiveness(network)
    network.answers = false
    const down = await firstDown(liveness, 20_000, () => {})
    expect(down).toBeLessThanOrEqual(6_000)
    network.answers = true
    expect(liveness.down(20_000, 0)).toBe("network")
    await settled()
    expect(liveness.down(20_250, 0)).toBeUndefined()
  })

  it("is down because of the agent's service where the gate answers and nothing is sent for 3 s of what waits", async () => {
    const liveness = createLiveness(network)
    const seen: Array<string | undefined> = []
    for (let now = 250; now <= 20_000; now += 250) {
      await settled()
      // from 10 s on the same bytes wait; before, each time others
      seen.push(liveness.down(now, now < 10_000 ? 5_000 + now : 4_000))
    }
    expect(seen.indexOf("agent")).toBeGreaterThan(13_000 / 250 - 1)
    expect(seen.indexOf("agent")).toBeLessThanOrEqual(14_000 / 250)
    expect(seen).not.toContain("network")
  })

  it("stays down because of the network, which had cut it off, when the gate answers again before it", async () => {
    const liveness = createLiveness(network)
    network.answers = false
    for (let now = 250; now <= 10_000; now += 250) {
      network.pass(now)
      await settled()
      liveness.down(now, 4_000)
    }
    expect(liveness.down(10_000, 4_000)).toBe("network")
    network.answers = true
    for (let now = 10_000; now <= 20_000; now += 250) {
      network.pass(now)
      await settled()
      expect(liveness.down(now, 4_000)).toBe("network")
    }
    liveness.heard(20_000)
    expect(liveness.down(20_250, 0)).toBeUndefined()
  })

  it("is not down on an offline machine whose gate answers, as on localhost", async () => {
    const liveness = createLiveness(network)
    await firstDown(liveness, 5_000, () => {})
    network.online = false
    expect(liveness.down(5_250, 0)).toBeUndefined()
  })

  it("is down 2 s after an online machine goes offline, but not where it was offline before", async () => {
    const liveness = createLiveness(network)
    network.online = false
    const offlineBefore = createLiveness(network)
    expect(await firstDown(liveness, 20_000, () => {})).toBe(2_250)
    expect(await firstDown(offlineBefore, 20_000, () => {})).toBeUndefined()
  })
})

describe("what cannot be sent", () => {
  const frame = (loudness: number, index = 0) => ({ frame: new ArrayBuffer(index), loudness })

  it("is kept for a fifth of a second, the newest of it", () => {
    const held: Array<Captured> = []
    for (let index = 0; index < 200; index++) hold(held, frame(0.3, index))
    const kept = held.map(({ frame: { byteLength } }) => byteLength)
    expect(kept).toEqual(Array.from({ length: MAX_HELD }, (_, index) => 200 - MAX_HELD + index))
  })

  it("loses its silence before its speech, and keeps its order", () => {
    const held: Array<Captured> = []
    for (let index = 0; index < MAX_HELD; index++) hold(held, frame(index % 2 === 0 ? 0.3 : 0, index))
    for (let index = MAX_HELD; index < MAX_HELD + MAX_HELD / 2; index++) hold(held, frame(0.3, index))
    expect(held.every(({ loudness }) => loudness > 0)).toBe(true)
    expect(held.map(({ frame: { byteLength } }) => byteLength)).toEqual([0, 2, 4, 6, 8, 10, 11, 12, 13, 14])
  })
})
