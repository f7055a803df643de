/**
 * Simulated time and simulated processes. One heap holds all future events, ordered by time and then by when they were
 * scheduled; the simulation only advances by taking its head. A process is a scheduler and a clock for the fibers of
 * one gate: after a kill none of its fibers ever runs again, not even a finalizer; while frozen, all its events wait.
 */
import { Clock, Context, Duration, Effect, Scheduler } from "effect"

/** When every history begins (ms since 1970). */
export const BEGIN = 4_000_000_000_000
/** Maximum tasks at one moment: detects a history that livelocks. */
const MOST_TASKS = 100_000

interface Event {
  readonly at: number
  readonly order: number
  readonly owner: Process | undefined
  run: (() => void) | undefined
}

const before = (a: Event, b: Event): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)

export class Kernel {
  now = BEGIN
  /** calls to a real server in flight; simulated time stands still until they are answered */
  inflight = 0
  /** why such a call failed */
  broken: unknown
  private readonly heap: Array<Event> = []
  private readonly ready: Array<() => void> = []
  private order = 0
  private wake: (() => void) | undefined

  /** Schedules an action; dropped if its owner is dead by then, delayed while its owner is frozen. */
  after(millis: number, run: () => void, owner?: Process): () => void {
    const event: Event = { at: this.now + millis, order: this.order++, owner, run }
    this.push(event)
    return () => {
      event.run = undefined
    }
  }

  task(task: () => void): void {
    this.ready.push(task)
  }

  /** Runs everything that can run at this moment. */
  drain(): void {
    for (let n = 0; this.ready.length > 0; n++) {
      if (n > MOST_TASKS) throw new Error("time stands still: the fibers never wait")
      this.ready.shift()?.()
    }
  }

  /** Advances to the next event; false when there is none. */
  next(): boolean {
    for (;;) {
      const event = this.heap[0]
      if (event === undefined) return false
      this.pop()
      if (event.run === undefined || event.owner?.alive === false) continue
      this.now = Math.max(this.now, event.at)
      if (event.owner !== undefined && event.owner.frozenUntil > this.now) {
        this.push({ ...event, at: event.owner.frozenUntil, order: this.order++ })
        continue
      }
      event.run()
      return true
    }
  }

  /** Counts a call to a real server until `done`. */
  begun(): () => void {
    this.inflight++
    return () => {
      this.inflight--
      if (this.inflight === 0) this.wake?.()
    }
  }

  answered(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = () => {
        this.wake = undefined
        resolve()
      }
      if (this.inflight === 0) this.wake()
    })
  }

  private push(event: Event): void {
    const { heap } = this
    let at = heap.push(event) - 1
    while (at > 0) {
      const up = (at - 1) >> 1
      const parent = heap[up]
      if (parent === undefined || !before(event, parent)) break
      heap[at] = parent
      at = up
    }
    heap[at] = event
  }

  private pop(): void {
    const { heap } = this
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let at = 0
    for (;;) {
      const left = heap[2 * at + 1]
      const right = heap[2 * at + 2]
      if (left === undefined) break
      const child = right !== undefined && before(right, left) ? right : left
      if (!before(child, last)) break
      heap[at] = child
      at = child === left ? 2 * at + 1 : 2 * at + 2
    }
    heap[at] = last
  }
}

export class Process {
  alive = true
  frozenUntil = 0
  /** how far its clocks are behind, because they stood still (ms) */
  behind = { steady: 0, wall: 0 }
  readonly kernel: Kernel
  readonly clock: Clock.Clock
  readonly context: Context.Context<never>

  constructor(kernel: Kernel) {
    this.kernel = kernel
    const scheduler: Scheduler.Scheduler = {
      executionMode: "async",
      shouldYield: (fiber) => fiber.currentOpCount >= 2048,
      makeDispatcher: () => ({
        scheduleTask: (task) =>
          kernel.task(() => {
            if (this.alive) task()
          }),
        flush: () => {},
      }),
    }
    const wall = () => kernel.now - this.behind.wall
    const nanos = () => BigInt(wall()) * 1_000_000n
    const steady = () => BigInt(kernel.now - this.behind.steady) * 1_000_000n
    this.clock = {
      currentTimeMillisUnsafe: wall,
      currentTimeMillis: Effect.sync(wall),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: steady,
      monotonicTimeNanos: Effect.sync(steady),
      sleep: (duration) =>
        Effect.callback<void>((resume) =>
          Effect.sync(kernel.after(Duration.toMillis(duration), () => resume(Effect.void), this)),
        ),
    }
    this.context = Context.empty().pipe(
      Context.add(Clock.Clock, this.clock),
      Context.add(Scheduler.Scheduler, scheduler),
    )
  }

  kill(): void {
    this.alive = false
  }
}
