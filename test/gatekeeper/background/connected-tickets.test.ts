/** What a gate asks of its connected tickets with a heartbeat, and what it pushes. */
import { assert, describe, expect, it } from "@effect/vitest"
import type { Heartbeat, HeartbeatEntry, QueueChanges } from "../../../src/fifo-queue/FifoQueue.ts"
import { ConnectedTickets } from "../../../src/gatekeeper/background/connected-tickets.ts"

const NOTHING: QueueChanges = { until: 7, more: false, holds: 0, lost: false, changed: [], held: [] }

const waiting = (ticket: string, seq: number, position = seq, elsewhere?: true): HeartbeatEntry => ({
  ticket,
  state: "waiting",
  position,
  startBefore: 0,
  lease: "",
  seq,
  ...(elsewhere === undefined ? {} : { elsewhere }),
})

const answer = (
  tickets: ReadonlyArray<HeartbeatEntry>,
  changes: Partial<QueueChanges> | undefined = {},
  queue: Partial<Heartbeat> = {},
): Heartbeat => ({
  length: 1_000,
  averageMillis: 0,
  disrupted: false,
  ...queue,
  tickets,
  ...(changes === undefined ? {} : { changes: { ...NOTHING, ...changes } }),
})

/** A gate that holds these tickets. */
const holding = (...tickets: ReadonlyArray<HeartbeatEntry>) => {
  const connected = new ConnectedTickets(() => 5)
  const names = tickets.map(({ ticket }) => ticket)
  const tick = (changes: Partial<QueueChanges> = {}, queue: Partial<Heartbeat> = {}, open = names) => {
    const asked = connected.begin(open, false)
    const question = connected.question(1_000)
    const { ask, events } = connected.answered(
      answer([], { holds: open.length, ...changes }, queue),
      question.closed ?? [],
    )
    connected.end(changes.holds ?? open.length)
    return {
      asked,
      ask,
      question,
      shown: [...events].map(([ticket, event]) => [ticket, "position" in event && event.position]),
    }
  }
  expect(connected.begin(names, false)).toEqual(names)
  connected.answered(answer(tickets, { holds: names.length }), [])
  connected.end(names.length)
  return { connected, names, tick }
}

describe("what a gate asks", () => {
  it("names a ticket that it holds once, and one that another gate holds or that does not wait each time", () => {
    const called: HeartbeatEntry = { ticket: "c", state: "called", position: 0, startBefore: 1, lease: "1" }
    const { connected } = holding(waiting("a", 1), waiting("b", 2, 2, true), called)
    expect(connected.begin(["a", "b", "c", "new"], false)).toEqual(["b", "c", "new"])
    expect(connected.question(1_000).since).toBe(7)
  })

  it("tells of a closed connection until the queue has answered, and not when it is open again", () => {
    const { connected } = holding(waiting("a", 1), waiting("b", 2))
    connected.begin([], false)
    expect(connected.question(1_000).closed).toEqual(["a", "b"])
    // the answer was lost, and b has come back
    expect(connected.begin(["b"], false)).toEqual(["b"])
    const { closed = [] } = connected.question(1_000)
    expect(closed).toEqual(["a"])
    connected.answered(answer([waiting("b", 2)]), closed)
    expect(connected.hasClosed()).toBe(false)
    connected.begin(["b"], false)
    expect(connected.question(1_000)).not.toHaveProperty("closed")
  })

  it("asks at once for its tickets that have changed, and for no others", () => {
    const { tick } = holding(waiting("a", 1), waiting("b", 2))
    expect(tick({ changed: ["b", "of another gate"] }).ask).toEqual(["b"])
  })

  it("asks for all when changes are not known any more, and lists what it holds", () => {
    const { connected, names, tick } = holding(waiting("a", 1), waiting("b", 2))
    connected.begin(names, false)
    expect(connected.answered(answer([], { lost: true }), []).ask).toEqual(names)
    expect(connected.isResynchronising()).toBe(true)
    connected.end(2)
    expect(tick().asked).toEqual([])
  })

  it("asks for all after a heartbeat that failed", () => {
    const { connected, names } = holding(waiting("a", 1))
    connected.missed()
    expect(connected.begin(names, false)).toEqual(names)
  })

  it("asks for all when it has held another number of tickets twice in a row", () => {
    const { tick } = holding(waiting("a", 1), waiting("b", 2))
    expect(tick({ holds: 1 }).asked).toEqual([])
    expect(tick().asked).toEqual([])
    expect(tick({ holds: 3 }).asked).toEqual([])
    expect(tick({ holds: 3 }).asked).toEqual([])
    expect(tick().asked).toEqual(["a", "b"])
  })

  it("lets go of a ticket that the queue says it holds and that is not connected", () => {
    const { tick } = holding(waiting("a", 1))
    tick({ held: ["a", "ghost"] })
    expect(tick().question.closed).toEqual(["ghost"])
  })

  it("asks for all with every heartbeat where the queue does not tell of changes", () => {
    const connected = new ConnectedTickets(() => 5)
    const called: HeartbeatEntry = { ticket: "a", state: "called", position: 0, startBefore: 1, lease: "1" }
    for (const _ of [1, 2, 3]) {
      expect(connected.begin(["a", "b"], false)).toEqual(["a", "b"])
      const { events } = connected.answered(answer([called], undefined), [])
      expect([...events.keys()]).toEqual(["a"])
      connected.end(undefined)
    }
    connected.begin(["a"], false)
    expect(connected.hasClosed()).toBe(false)
  })
})

describe("what a gate pushes", () => {
  /** 3, 4, 8, and 97 more up to 105; then steps */
  const first = [3, 4, 8, ...Array.from({ length: 97 }, (_, n) => n + 9)]
  const places = { first, steps: [104, 120, 106, 130] }

  it("shows the first places as they are", () => {
    const { tick } = holding(waiting("a", 4, 40), waiting("b", 8, 1))
    expect(tick({ places }).shown).toEqual([
      ["a", 2],
      ["b", 3],
    ])
  })

  it("shows behind them the place of the next step, which never grows", () => {
    const { tick } = holding(waiting("a", 119, 140), waiting("b", 121, 105), waiting("c", 199, 150))
    // they were told their places by the heartbeat before
    expect(tick({ places }).shown).toEqual([])
    expect(tick({ places }).shown).toContainEqual(["a", 104])
    expect(tick({ places }).shown).not.toContainEqual(["b", 106])
  })

  it("shows nothing of a ticket that has changed before it has asked for it", () => {
    const { tick } = holding(waiting("a", 4, 40))
    expect(tick({ places, changed: ["a"] }).shown).toEqual([])
  })

  it("asks for a ticket that is not among the first places any more, and shows nothing of it", () => {
    const { tick } = holding(waiting("a", 5, 40), waiting("b", 2, 1))
    expect(tick({ places })).toMatchObject({ ask: ["a", "b"], shown: [] })
    expect(tick({ places: { first: [], steps: [] } }).asked).toEqual(["a", "b"])
  })

  it("asks for the steps again after a change, since those of the answer may be older", () => {
    const { tick } = holding(waiting("a", 119, 140))
    expect(tick({ places, changed: ["of another gate"] }).question).not.toHaveProperty("steps")
    expect(tick({ places }).question).toHaveProperty("steps", true)
  })

  it("shows everybody at once why nobody is called, and the estimate once in half a minute", () => {
    const { tick } = holding(waiting("a", 200), waiting("b", 201), waiting("c", 216))
    const unmoved = { places: { first, steps: [] } }
    tick(unmoved)
    expect(tick(unmoved, { disrupted: true }).shown.length).toBe(3)
    const shown = Array.from({ length: 15 }, () =>
      tick(unmoved, { disrupted: true }).shown.map(([ticket]) => ticket),
    ).flat()
    expect(shown.toSorted()).toEqual(["a", "b", "c"])
  })

  it("shows those behind the first places every ten seconds at most that it has changed why nobody is called, and the last of it", () => {
    const { tick } = holding(waiting("a", 8, 3), waiting("b", 200), waiting("c", 201))
    const unmoved = { places: { first, steps: [] } }
    tick(unmoved)
    const shown = Array.from({ length: 12 }, (_, n) =>
      tick(unmoved, { disrupted: n % 2 === 0 }).shown.map(([ticket]) => ticket),
    )
    assert.deepStrictEqual(
      shown.map((tickets) => tickets.includes("b") && tickets.includes("c")),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((n) => n % 5 === 0),
    )
    // the first ones at once
    assert.isTrue(shown.every((tickets) => tickets.includes("a")))
    const later = Array.from({ length: 4 }, () => tick(unmoved, { disrupted: false }).shown.length)
    assert.deepStrictEqual(later, [1, 1, 1, 3])
  })

  it("sends the estimate to nobody who has been sent a place within half a minute", () => {
    const { tick } = holding(waiting("a", 119, 10_000))
    const shown = Array.from({ length: 40 }, (_, n) =>
      // a place further each 20 s
      tick({ places: { first, steps: [9_000 - Math.floor(n / 10), 120] } }).shown.flat(),
    ).flat()
    expect(shown).toEqual(["a", 9_000, "a", 8_999, "a", 8_998, "a", 8_997])
  })

  it("sends another place behind the first ones with every second heartbeat at most, and misses none", () => {
    const { tick } = holding(waiting("a", 119, 10_000))
    const at = (place: number) => {
      const { question, shown } = tick({ places: { first, steps: [place, 120] } })
      return [question.steps === true, ...shown.flat()]
    }
    for (let n = 0; n < 5; n++) expect(at(10_000)).toHaveLength(1)
    const told = [9_900, 9_800, 9_700, 9_700, 9_700].map(at)
    expect(told.map(([, ...shown]) => shown)).toEqual([["a", 9_900], [], ["a", 9_700], [], []])
    // asked for again after the place that was not shown
    expect(told[2]?.[0]).toBe(true)
  })
})
