/** How the Lua of a rule is divided. */
import { assert, describe, it } from "@effect/vitest"
import type { Declaration } from "../../scripts/rules/printer.ts"
import { sectionsOf } from "../../scripts/rules/sections.ts"

/** The sections of a rule that uses `rule`; declarations by name, each with the names that it uses. */
const divided = (uses: Readonly<Record<string, ReadonlyArray<string>>>, ...lazy: ReadonlyArray<string>) => {
  const all = Object.entries(uses).map(([name, names]): [string, Declaration] => [
    name,
    { name, statement: "", lazy: "", isFunction: true, uses: new Set(names) },
  ])
  const sections = sectionsOf(new Map(all), ["rule"], new Set(lazy))
  return { local: sections.local.join(" "), lazy: sections.lazy.join(" ") }
}

describe("the Lua of a rule", () => {
  it("has what the rule needs, in order, and nothing else", () => {
    assert.deepStrictEqual(divided({ a: [], unused: [], b: ["a"], rule: ["b"] }), { local: "a b rule", lazy: "" })
  })

  it("has a lazy function apart, with all that it uses, and what nearly every run uses too", () => {
    const uses = { a: [], b: [], c: ["a"], few: ["b", "c"], rule: ["few", "a"] }
    assert.deepStrictEqual(divided(uses, "few"), { local: "a rule", lazy: "a b c few" })
  })

  it("has a lazy function once, whatever uses it", () => {
    const uses = { a: [], inner: ["a"], one: ["inner"], two: ["inner"], rule: ["one", "two"] }
    assert.deepStrictEqual(divided(uses, "inner", "one", "two"), { local: "rule", lazy: "a inner one two" })
  })

  it("may be a lazy function itself", () => {
    assert.deepStrictEqual(divided({ a: [], rule: ["a"] }, "rule"), { local: "", lazy: "a rule" })
  })

  it("is refused where Lua allows no more variables", () => {
    const many = (n: number) => Array.from({ length: n }, (_, i) => `f${i}`)
    const rule = (n: number) => ({ ...Object.fromEntries(many(n).map((name) => [name, []])), rule: many(n) })
    assert.throws(() => divided(rule(61)), "rule uses 61 declarations; Lua allows 60")
    const chain = many(200).map((name, i): [string, ReadonlyArray<string>] => [name, i === 0 ? [] : [`f${i - 1}`]])
    assert.throws(() => divided({ ...Object.fromEntries(chain), rule: ["f199"] }), "rule use 201 declarations")
  })
})
