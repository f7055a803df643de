import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { SortedSet } from "../../../src/store/memory/SortedSet.ts"

interface Entry {
  readonly score: number
  readonly member: string
}

/** A reference implementation: an array that is sorted again after each change. */
class Naive {
  entries: ReadonlyArray<Entry> = []

  add(score: number, member: string): void {
    this.entries = [...this.entries.filter((e) => e.member !== member), { score, member }].sort(
      (a, b) => a.score - b.score || (a.member < b.member ? -1 : 1),
    )
  }

  remove(member: string): boolean {
    const { length } = this.entries
    this.entries = this.entries.filter((e) => e.member !== member)
    return this.entries.length < length
  }

  rank(member: string): number | undefined {
    const rank = this.entries.findIndex((e) => e.member === member)
    return rank < 0 ? undefined : rank
  }

  range(min: number, max: number, limit: number, offset: number): ReadonlyArray<Entry> {
    return this.entries.filter((e) => e.score >= min && e.score <= max).slice(offset, offset + limit)
  }
}

type Op =
  | { readonly op: "add"; readonly score: number; readonly member: string }
  | { readonly op: "remove"; readonly member: string }

const assertAlike = (
  set: SortedSet,
  naive: Naive,
  members: ReadonlyArray<string>,
  bounds: readonly [number, number],
) => {
  const [a, b] = bounds
  const size = naive.entries.length
  assert.strictEqual(set.size, size)
  for (const member of members) {
    assert.strictEqual(set.rank(member), naive.rank(member))
    assert.strictEqual(set.score(member), naive.entries.find((e) => e.member === member)?.score)
  }
  for (const rank of [0, 1, size >>> 1, size - 1, size]) {
    if (rank >= 0) assert.strictEqual(set.at(rank), naive.entries[rank]?.member)
  }
  for (const [min, max, limit, offset] of [
    [a, b, Number.POSITIVE_INFINITY, 0],
    [a, b, 3, 2],
    [a, b, 0, 0],
    [b, a, 5, 0],
    [Number.NEGATIVE_INFINITY, a, Number.POSITIVE_INFINITY, 1],
    [b, Number.POSITIVE_INFINITY, 700, 600],
  ] as const) {
    assert.deepStrictEqual(set.range(min, max, limit, offset), naive.range(min, max, limit, offset))
  }
  for (const min of [a, b, Number.NEGATIVE_INFINITY]) {
    assert.strictEqual(set.countFrom(min), naive.entries.filter((e) => e.score >= min).length)
  }
}

const op = (members: number, scores: number): fc.Arbitrary<Op> => {
  const member = fc.nat(members - 1).map((n) => `m${n}`)
  return fc.oneof(
    { weight: 3, arbitrary: fc.record({ op: fc.constant("add" as const), score: fc.nat(scores), member }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant("remove" as const), member }) },
  )
}

const apply = (set: SortedSet, naive: Naive, step: Op): void => {
  if (step.op === "add") {
    set.add(step.score, step.member)
    naive.add(step.score, step.member)
  } else {
    assert.strictEqual(set.remove(step.member), naive.remove(step.member))
  }
}

describe("SortedSet", () => {
  it("equals an array sorted by score, then by member, after each of a few changes", () => {
    fc.assert(
      fc.property(fc.array(op(8, 6), { maxLength: 40 }), fc.nat(7), fc.nat(7), (steps, a, b) => {
        const [set, naive] = [new SortedSet(), new Naive()]
        for (const step of steps) {
          apply(set, naive, step)
          assertAlike(set, naive, ["m0", "m3", "m7", "absent"], [Math.min(a, b), Math.max(a, b)])
        }
      }),
      { numRuns: 500 },
    )
  })

  it("equals the array after 5,000 random changes, which split its runs and empty them again", () => {
    fc.assert(
      fc.property(
        fc.array(op(3_000, 500), { minLength: 5_000, maxLength: 5_000, size: "max" }),
        fc.nat(500),
        fc.nat(500),
        (steps, a, b) => {
          const [set, naive] = [new SortedSet(), new Naive()]
          const bounds = [Math.min(a, b), Math.max(a, b)] as const
          let largest = 0
          steps.forEach((step, i) => {
            apply(set, naive, step)
            largest = Math.max(largest, set.size)
            if (i % 250 === 0) assertAlike(set, naive, ["m0", "m1500", "m2999", step.member], bounds)
          })
          assert.isAbove(largest, 1_024)
          for (const { member } of naive.entries) assert.strictEqual(set.rank(member), naive.rank(member))
          for (const { member } of [...naive.entries]) {
            apply(set, naive, { op: "remove", member })
            if (set.size % 200 === 0) assertAlike(set, naive, ["m1", member], bounds)
          }
          assert.strictEqual(set.size, 0)
        },
      ),
      { numRuns: 3 },
    )
  })

  it("keeps its order when it is filled at the end and emptied from the front, like a queue", () => {
    const set = new SortedSet()
    for (let i = 0; i < 3_000; i++) set.add(i, `t${i}`)
    for (let i = 0; i < 3_000; i++) {
      assert.strictEqual(set.at(0), `t${i}`)
      assert.strictEqual(set.rank("t2999"), 2_999 - i)
      assert.isTrue(set.remove(`t${i}`))
    }
    assert.isUndefined(set.at(0))
  })
})
