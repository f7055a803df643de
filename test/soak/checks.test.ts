/** The soak's checks: each kind of leak is found on its own, and noise is not. */
import { assert, describe, it } from "@effect/vitest"
import { judgeAll } from "./checks.ts"
import type { GateFigures } from "./gate-process.ts"
import { Ledger } from "./ledger.ts"
import type { Measured, Sample } from "./measured.ts"
import type { KeyAudit, StoreFigures } from "./store-figures.ts"
import { judge, judgeTrend, type Point, slope } from "./verdict.ts"

const MB = 2 ** 20

const gate: GateFigures = {
  rss: 150 * MB,
  heapUsed: 40 * MB,
  external: 4 * MB,
  sockets: 5,
  files: 22,
  timers: 9,
  resources: 6,
  listeners: 4,
}
const store: StoreFigures = {
  keys: { unknown: 0, campaign: 3, console: 3, "caller log": 900, "hub token": 0, "hub browser": 40 },
  open: 0,
  sizes: {
    meta: 9,
    tickets: 0,
    data: 0,
    sessions: 0,
    waiting: 0,
    presence: 0,
    leases: 0,
    endedSessions: 60,
    forget: 0,
    settlements: 0,
    auditLog: 2,
    live: 0,
    doubts: 0,
    parked: 0,
    ring: 40,
    instances: 2,
    about: 2,
  },
  usedMemory: 5 * MB,
  clients: 5,
  channels: 2,
  scripts: 12,
}
const audit: KeyAudit = {
  forEver: [],
  tooLong: [],
  overdue: 0,
  bytes: {},
  rest: MB,
  lifetimes: { "caller log": 80_000_000 },
}
const sample: Sample = { minute: 0, gates: [gate, gate], store, callsStarted: 0, active: 0, running: 0 }

interface Changes {
  readonly gate?: Partial<GateFigures>
  readonly sizes?: Partial<StoreFigures["sizes"]>
  readonly keys?: Readonly<Record<string, number>>
  readonly store?: Partial<StoreFigures>
  readonly audit?: Partial<KeyAudit>
  readonly sample?: Partial<Sample>
  readonly run?: Partial<Measured>
}

/** A short run without leaks, with these changes at its end. */
const runWith = (changes: Changes): Measured => ({
  before: { ...sample, minute: -2, audit },
  after: {
    ...sample,
    minute: 5,
    gates: [gate, { ...gate, ...changes.gate }],
    store: {
      ...store,
      ...changes.store,
      sizes: { ...store.sizes, ...changes.sizes },
      keys: { ...store.keys, ...changes.keys },
    },
    audit: { ...audit, ...changes.audit },
    ...changes.sample,
  },
  series: [],
  sessionIds: 100,
  peak: 50,
  slots: 50,
  forgotten: true,
  ...changes.run,
})

const offIn = (measured: Measured, ledger = new Ledger()): ReadonlyArray<string> =>
  judgeAll(measured, ledger).flatMap(({ name, ok }) => (ok ? [] : [name]))

/** An hour of samples of one heap, in MB. */
const series = (heap: (minute: number) => number): ReadonlyArray<Sample> =>
  Array.from({ length: 60 }, (_, minute) => ({
    ...sample,
    minute,
    gates: [gate, { ...gate, heapUsed: heap(minute) * MB }],
  }))

/** Deterministic noise. */
const noise = (minute: number): number => ((minute * 7919) % 13) / 6 - 1

describe("the checks of a soak", () => {
  it("find nothing when there is no leak", () => {
    assert.deepStrictEqual(offIn(runWith({})), [])
  })

  it("allow memory to grow by what warm code and pools take, and no more", () => {
    assert.deepStrictEqual(offIn(runWith({ gate: { heapUsed: 43 * MB, rss: 200 * MB } })), [])
    assert.deepStrictEqual(offIn(runWith({ gate: { heapUsed: 45 * MB } })), ["gate B: heapUsed"])
    // after warming up it used less than just after its start
    const run = { series: series(() => 35).slice(0, 3) }
    assert.deepStrictEqual(offIn(runWith({ gate: { heapUsed: 40 * MB }, run })), ["gate B: heapUsed"])
    assert.deepStrictEqual(offIn(runWith({ gate: { rss: 230 * MB } })), ["gate B: rss"])
  })

  const left: ReadonlyArray<readonly [string, Changes]> = [
    ["gate B: sockets", { gate: { sockets: 6 } }],
    ["gate B: files", { gate: { files: 23 } }],
    ["gate B: timers", { gate: { timers: 10 } }],
    ["gate B: external", { gate: { external: 8 * MB } }],
    ["gate B: listeners", { gate: { listeners: 5 } }],
    ["campaign: leases", { sizes: { leases: 1 } }],
    ["campaign: live", { sizes: { live: 1 } }],
    ["campaign: doubts", { sizes: { doubts: 1 } }],
    ["campaign: parked", { sizes: { parked: 1 } }],
    ["campaign: waiting", { sizes: { waiting: 1 } }],
    ["campaign: presence", { sizes: { presence: 1 } }],
    ["campaign: tickets", { sizes: { tickets: 1 } }],
    ["campaign: tickets", { sizes: { tickets: 4, forget: 3 }, run: { forgotten: false } }],
    ["campaign: forget", { sizes: { forget: 1 } }],
    ["campaign: data", { sizes: { data: 1 } }],
    ["campaign: sessions", { sizes: { sessions: 1 } }],
    ["campaign: settlements", { sizes: { settlements: 1 } }],
    ["campaign: endedSessions", { sizes: { endedSessions: 201 } }],
    ["console: instances", { sizes: { about: 3 } }],
    ["tickets that count as open", { store: { open: 1 } }],
    ["keys: hub token", { keys: { "hub token": 1 } }],
    ["keys: unknown", { keys: { unknown: 1 } }],
    ["keys without an expiry that should have one", { audit: { forEver: ["vg:{1.2.3.4}:log"] } }],
    ["keys with a longer lifetime than their kind allows", { audit: { tooLong: ["vg:{1.2.3.4}:log"] } }],
    ["tickets that should have been deleted", { audit: { overdue: 1 } }],
    ["redis: memory other than keys", { audit: { rest: 4 * MB } }],
    ["redis: clients", { store: { clients: 6 } }],
    ["redis: channels", { store: { channels: 3 } }],
    ["redis: scripts", { store: { scripts: 27 } }],
    ["active callers", { sample: { active: 1 } }],
    ["peak of concurrent calls", { run: { peak: 51 } }],
  ]
  for (const [name, changes] of left) {
    it(`find one too many: ${name}`, () => {
      assert.deepStrictEqual(offIn(runWith(changes)), [name])
    })
  }

  it("find a figure that could not be measured", () => {
    assert.deepStrictEqual(offIn(runWith({ gate: { heapUsed: Number.NaN } })), ["gate B: heapUsed"])
  })

  it("find a call that has not ended, and every kind of problem by its name", () => {
    const ledger = new Ledger()
    ledger.count("calls started", 3)
    ledger.count("calls ended", 2)
    ledger.problem("order violations", "place 4 after place 5")
    assert.deepStrictEqual(offIn(runWith({}), ledger), ["calls started, all ended", "order violations"])
  })

  it("require that a long run has seen the events that it tests", () => {
    const off = offIn(runWith({ sample: { minute: 30 } }))
    assert.include(off, "never seen: moved to the other gate")
    assert.include(off, "never seen: platform: ghost")
  })

  it("find a heap that grows by 100 KB per minute despite noise, and no growth in noise alone", () => {
    const leaking = runWith({ run: { series: series((minute) => 40 + 0.1 * minute + noise(minute)) } })
    assert.deepStrictEqual(offIn(leaking), ["gate B: heapUsed grows under load"])
    const steady = runWith({ run: { series: series((minute) => 40 + noise(minute)) } })
    assert.deepStrictEqual(offIn(steady), [])
    const warming = runWith({ run: { series: series((minute) => 45 - 5 * Math.exp(-minute / 5) + noise(minute)) } })
    assert.deepStrictEqual(offIn(warming), [])
  })
})

describe("a slope", () => {
  const line = (values: ReadonlyArray<number>): ReadonlyArray<Point> =>
    values.map((value, minute) => ({ minute, value }))

  it("is the median over pairs of points", () => {
    assert.strictEqual(slope(line([1, 3, 5, 7, 9])), 2)
    assert.strictEqual(slope(line([1, 3, 5, 700, 9])), 2)
    assert.strictEqual(slope(line([4, 4, 4])), 0)
  })

  it("is not judged with too few points", () => {
    assert.isUndefined(judgeTrend("heap", line([1, 2, 3, 4]), 0))
  })

  it("fails a minimum with a lower value", () => {
    assert.isFalse(judge({ name: "x", before: 0, after: 0, allowed: { kind: "at least", limit: 1 } }).ok)
    assert.isTrue(judge({ name: "x", before: 0, after: 1, allowed: { kind: "at least", limit: 1 } }).ok)
  })
})
