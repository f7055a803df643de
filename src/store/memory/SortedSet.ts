/**
 * A sorted set as in Redis: members ordered by score, then by member. Stored as a list of sorted runs, so that insert, remove
 * and rank cost the length of one run and a scan over the runs, even with a million members. A small set, as a caller's log is, has
 * one run and no index of its members, as Redis stores it in a list.
 */
interface Entry {
  readonly score: number
  readonly member: string
}

const RUN = 512
/** A set has an index of its members' scores once it has more members than this. */
const SMALL = 16

const before = (a: Entry, b: Entry): boolean => a.score < b.score || (a.score === b.score && a.member < b.member)

/** Binary search: the index of the first element for which `reached` is true. `reached` must be monotonic. */
const firstIndex = <A>(items: ReadonlyArray<A>, reached: (item: A) => boolean): number => {
  let low = 0
  let high = items.length
  while (low < high) {
    const mid = (low + high) >>> 1
    const item = items[mid]
    if (item !== undefined && reached(item)) high = mid
    else low = mid + 1
  }
  return low
}

export class SortedSet {
  /** the entries by member; absent while the set is small */
  private index: Map<string, Entry> | undefined
  private runs: Array<Array<Entry>> = []

  get size(): number {
    return this.index === undefined ? (this.runs[0]?.length ?? 0) : this.index.size
  }

  score(member: string): number | undefined {
    return this.entry(member)?.score
  }

  /** Adds the member, or changes its score. */
  add(score: number, member: string): void {
    const old = this.entry(member)
    if (old?.score === score) return
    if (old !== undefined) this.removeEntry(old)
    const entry: Entry = { score, member }
    if (this.index === undefined && this.size >= SMALL) {
      this.index = new Map(this.runs[0]?.map((each) => [each.member, each]))
    }
    this.index?.set(member, entry)
    if (this.append(entry)) return
    const at = Math.min(this.runOf(entry), this.runs.length - 1)
    const run = this.runs[at]
    if (run === undefined) return
    run.splice(
      firstIndex(run, (e) => before(entry, e)),
      0,
      entry,
    )
    if (run.length > RUN) this.runs.splice(at + 1, 0, run.splice(RUN >>> 1))
  }

  /** Adds an entry behind all others, as most are: queues and logs grow at their end. False if it belongs elsewhere. */
  private append(entry: Entry): boolean {
    const run = this.runs[this.runs.length - 1]
    const last = run?.[run.length - 1]
    if (last !== undefined && before(entry, last)) return false
    // to push to an empty list would leave room for 16 more runs, in the log of each caller
    if (run === undefined) this.runs = [[entry]]
    else if (run.length >= RUN) this.runs.push([entry])
    else run.push(entry)
    return true
  }

  /** Returns whether it was a member. */
  remove(member: string): boolean {
    const entry = this.entry(member)
    if (entry !== undefined) this.removeEntry(entry)
    return entry !== undefined
  }

  private removeEntry(entry: Entry): void {
    this.index?.delete(entry.member)
    const at = this.runOf(entry)
    const run = this.runs[at]
    if (run === undefined) return
    run.splice(
      firstIndex(run, (e) => !before(e, entry)),
      1,
    )
    if (run.length === 0) this.runs.splice(at, 1)
  }

  /** The zero-based rank of a member. */
  rank(member: string): number | undefined {
    const entry = this.entry(member)
    if (entry === undefined) return undefined
    const at = this.runOf(entry)
    let rank = 0
    for (let i = 0; i < at; i++) rank += this.runs[i]?.length ?? 0
    return rank + firstIndex(this.runs[at] ?? [], (e) => !before(e, entry))
  }

  /** The member at a zero-based rank. */
  at(rank: number): string | undefined {
    let left = rank
    for (const run of this.runs) {
      if (left < run.length) return run[left]?.member
      left -= run.length
    }
    return undefined
  }

  /** Members with `min <= score <= max`, in order: skips `offset`, then returns up to `limit`. */
  range(min: number, max: number, limit: number, offset = 0): ReadonlyArray<Entry> {
    const found: Array<Entry> = []
    let skip = offset
    const from = firstIndex(this.runs, (run) => (run.at(-1)?.score ?? 0) >= min)
    for (let i = from; i < this.runs.length; i++) {
      for (const entry of this.runs[i] ?? []) {
        if (entry.score < min) continue
        if (entry.score > max || found.length >= limit) return found
        if (skip > 0) skip--
        else found.push(entry)
      }
    }
    return found
  }

  /** The first member after this one, which need not be in the set. */
  after(score: number, member: string): string | undefined {
    const entry: Entry = { score, member }
    const run = this.runs[firstIndex(this.runs, (each) => before(entry, each.at(-1) ?? entry))]
    return run?.[firstIndex(run, (each) => before(entry, each))]?.member
  }

  /** How many members have `min <= score`. */
  countFrom(min: number): number {
    const from = firstIndex(this.runs, (run) => (run.at(-1)?.score ?? 0) >= min)
    let count = 0
    for (let i = from + 1; i < this.runs.length; i++) count += this.runs[i]?.length ?? 0
    const run = this.runs[from]
    return run === undefined ? 0 : count + run.length - firstIndex(run, (e) => e.score >= min)
  }

  private entry(member: string): Entry | undefined {
    if (this.index !== undefined) return this.index.get(member)
    for (const entry of this.runs[0] ?? []) if (entry.member === member) return entry
    return undefined
  }

  private runOf(entry: Entry): number {
    return firstIndex(this.runs, (run) => {
      const last = run.at(-1)
      return last !== undefined && !before(last, entry)
    })
  }
}
