import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import { type Address, parseOnce } from "../../../src/lib/ip/address.ts"
import { parseRange, type Range, RangeSet } from "../../../src/lib/ip/ranges.ts"

const address = (text: string): Address => {
  const parsed = parseOnce(text)
  if (parsed === undefined) throw new Error(`${text} is no address`)
  return parsed
}
const range = (text: string): Range => {
  const parsed = parseRange(text)
  if (parsed === undefined) throw new Error(`${text} is no range`)
  return parsed
}
const setOf = (...texts: Array<string>): RangeSet => new RangeSet(texts.map(range))

/** An address as one number: what the naive matcher compares. */
const bits = (words: ReadonlyArray<number>): bigint => words.reduce((sum, word) => (sum << 32n) | BigInt(word), 0n)
const ipv4 = (word: number): string => [word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255].join(".")
const ipv6 = (words: ReadonlyArray<number>): string =>
  words.map((word) => `${(word >>> 16).toString(16)}:${(word & 0xffff).toString(16)}`).join(":")

const word = fc.oneof(
  fc.integer({ min: 0, max: 0xffffffff }),
  fc.constantFrom(0, 1, 0x7fffffff, 0x80000000, 0xffffffff),
)

describe("parseRange", () => {
  it.each([
    "",
    "/8",
    "1.2.3.4/",
    "1.2.3.4/33",
    "1.2.3.4/-1",
    "1.2.3.4/08",
    "1.2.3.4/8/8",
    "1.2.3/8",
    "::/129",
    "::ffff:1.2.3.4/95",
    "example",
  ])("takes %j for no range", (text) => {
    expect(parseRange(text)).toBeUndefined()
  })

  it("ignores host bits and reads a mapped block as its IPv4 block", () => {
    expect(parseRange("1.2.3.4/24")).toEqual(parseRange("1.2.3.0/24"))
    expect(parseRange("::ffff:1.2.3.0/120")).toEqual(parseRange("1.2.3.0/24"))
    expect(parseRange("1.2.3.4")).toEqual(parseRange("1.2.3.4/32"))
  })
})

describe("RangeSet", () => {
  it("is empty without ranges", () => {
    expect(setOf().has(address("1.2.3.4"))).toBe(false)
    expect(setOf().has(address("::1"))).toBe(false)
    expect(setOf().size).toBe(0)
  })

  it("holds first and last address of a range and neither neighbour", () => {
    const set = setOf("1.2.3.0/24", "2a00::/64")
    expect(["1.2.2.255", "1.2.3.0", "1.2.3.255", "1.2.4.0"].map((text) => set.has(address(text)))).toEqual([
      false,
      true,
      true,
      false,
    ])
    expect(
      ["29ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2a00::", "2a00::ffff:ffff:ffff:ffff", "2a00:0:0:1::"].map((text) =>
        set.has(address(text)),
      ),
    ).toEqual([false, true, true, false])
  })

  it("keeps IPv4 and IPv6 apart", () => {
    expect(setOf("0.0.0.0/0").has(address("2a00::1"))).toBe(false)
    expect(setOf("::/0").has(address("1.2.3.4"))).toBe(false)
    expect(setOf("0.0.0.0/0").has(address("255.255.255.255"))).toBe(true)
    expect(setOf("::/0").has(address("ffff::1"))).toBe(true)
  })

  it("merges overlapping, nested and repeated ranges", () => {
    const set = setOf("10.0.0.0/8", "10.1.0.0/16", "10.0.0.0/8", "10.255.255.255", "12.0.0.0/8")
    expect(set.size).toBe(2)
    expect(set.has(address("10.200.0.1"))).toBe(true)
    expect(set.has(address("11.0.0.0"))).toBe(false)
  })

  it("agrees with a naive matcher on any IPv4 ranges", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(word, fc.nat(32)), { maxLength: 40 }), fc.array(word), (blocks, probes) => {
        const set = setOf(...blocks.map(([base, prefix]) => `${ipv4(base)}/${prefix}`))
        for (const probe of [...probes, ...blocks.map(([base]) => base)]) {
          const expected = blocks.some(
            ([base, prefix]) => BigInt(probe) >> BigInt(32 - prefix) === BigInt(base) >> BigInt(32 - prefix),
          )
          expect(set.has(address(ipv4(probe)))).toBe(expected)
        }
      }),
    )
  })

  it("agrees with a naive matcher on any IPv6 ranges", () => {
    // not within ::/16, where IPv4-mapped addresses are
    const words = fc.tuple(fc.integer({ min: 0x10000, max: 0xffffffff }), word, word, word)
    fc.assert(
      fc.property(fc.array(fc.tuple(words, fc.nat(128)), { maxLength: 40 }), fc.array(words), (blocks, probes) => {
        const set = setOf(...blocks.map(([base, prefix]) => `${ipv6(base)}/${prefix}`))
        for (const probe of [...probes, ...blocks.map(([base]) => base)]) {
          const expected = blocks.some(
            ([base, prefix]) => bits(probe) >> BigInt(128 - prefix) === bits(base) >> BigInt(128 - prefix),
          )
          expect(set.has(address(ipv6(probe)))).toBe(expected)
        }
      }),
    )
  })

  it("agrees with a naive matcher on 40,000 ranges", () => {
    const random = fc.sample(fc.tuple(word, fc.integer({ min: 18, max: 32 })), { numRuns: 40_000, seed: 4 })
    const set = setOf(...random.map(([base, prefix]) => `${ipv4(base)}/${prefix}`))
    // the naive matcher: one set of network numbers a prefix length
    const networks = new Map<number, Set<number>>()
    for (const [base, prefix] of random) {
      const known = networks.get(prefix) ?? new Set()
      networks.set(prefix, known.add(Math.floor(base / 2 ** (32 - prefix))))
    }
    const naive = (probe: number): boolean =>
      [...networks].some(([prefix, known]) => known.has(Math.floor(probe / 2 ** (32 - prefix))))
    const bases = random.slice(0, 2_000).map(([base]) => base)
    const probes = [
      ...fc.sample(word, { numRuns: 4_000, seed: 5 }),
      ...bases,
      ...bases.map((base) => (base + 4096) % 2 ** 32),
    ]
    const answers = probes.map((probe) => set.has(address(ipv4(probe))))
    expect(answers).toEqual(probes.map(naive))
    expect(new Set(answers)).toEqual(new Set([true, false]))
  })
})
