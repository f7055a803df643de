/** Counts events by name, and collects problems with a few examples of each kind. */
const EXAMPLES = 5

export class Ledger {
  readonly counts = new Map<string, number>()
  readonly problems = new Map<string, { times: number; readonly examples: Array<string> }>()

  count(name: string, times = 1): void {
    this.counts.set(name, this.of(name) + times)
  }

  of(name: string): number {
    return this.counts.get(name) ?? 0
  }

  /** Records an event that must not happen. */
  problem(kind: string, example: string): void {
    const known = this.problems.get(kind) ?? { times: 0, examples: [] }
    known.times++
    if (known.examples.length < EXAMPLES) known.examples.push(example.slice(0, 500))
    this.problems.set(kind, known)
  }
}
