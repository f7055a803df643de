/** What happened, by name, and what should not have: a few examples of each are kept. */
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

  /** Something that must not happen, of a kind. */
  problem(kind: string, example: string): void {
    const known = this.problems.get(kind) ?? { times: 0, examples: [] }
    known.times++
    if (known.examples.length < EXAMPLES) known.examples.push(example.slice(0, 500))
    this.problems.set(kind, known)
  }
}
