/** How the Lua of a rule is arranged, and that it still does the same. */
import { assert, describe, it } from "@effect/vitest"
import { type Nested, nest } from "../../scripts/rules/nesting.ts"

/** Declarations by name, each with the names that it uses; a name in capitals is a constant. */
const arrange = (uses: Readonly<Record<string, ReadonlyArray<string>>>, ...entries: ReadonlyArray<string>) =>
  arrangeLazy(uses, [], ...entries)

/** The same, with lazy functions. */
const arrangeLazy = (
  uses: Readonly<Record<string, ReadonlyArray<string>>>,
  lazy: ReadonlyArray<string>,
  ...entries: ReadonlyArray<string>
) => {
  const texts = Object.keys(uses).map((name): [string, string] => [
    name,
    /^[A-Z]+$/.test(name) ? `local ${name} = 1` : `local function ${name}()\nend`,
  ])
  const shown = ({ inside, name }: Nested): string =>
    inside.length === 0 ? name : `${name}(${inside.map(shown).join(" ")})`
  return nest(new Map(texts), (name) => new Set(uses[name]), new Set(entries), new Set(lazy))
    .map(shown)
    .join(" ")
}

describe("the declarations of a rule", () => {
  it("are those that it needs, in their order", () => {
    assert.strictEqual(arrange({ a: [], unused: [], b: ["a"] }, "b"), "a b")
  })

  it("are inside of the only function that needs them", () => {
    assert.strictEqual(arrange({ A: [], b: [], host: ["A", "b"], rule: ["host"] }, "rule"), "rule(host(A b))")
  })

  it("are inside of the innermost function that all who need them share", () => {
    const uses = { shared: [], a: [], b: [], c: ["a", "b", "shared"], d: ["shared"], rule: ["c", "d"], other: ["a"] }
    assert.strictEqual(arrange(uses, "rule"), "rule(shared c(a b) d)")
    assert.strictEqual(arrange(uses, "rule", "other"), "a rule(shared b c d) other")
    assert.strictEqual(arrange(uses, "rule", "shared"), "shared rule(c(a b) d)")
  })

  it("are inside of each lazy function that needs them, unless another one does", () => {
    const uses = { a: [], b: ["a"], c: [], one: ["b", "c"], two: ["b"], rule: ["c", "one", "two"] }
    assert.strictEqual(arrange(uses, "rule"), "rule(a b c one two)")
    assert.strictEqual(arrangeLazy(uses, ["one", "two"], "rule"), "rule(c one(a b) two(a b))")
    const usual = { ...uses, rule: ["b", "c", "one", "two"] }
    assert.strictEqual(arrangeLazy(usual, ["one", "two"], "rule"), "rule(a b c one two)")
  })

  it("are inside of a lazy function within another one only if that one does not have them", () => {
    const uses = { a: [], b: [], inner: ["a", "b"], outer: ["a", "inner"], c: [], rule: ["outer", "c"] }
    assert.strictEqual(arrangeLazy(uses, ["inner", "outer"], "rule"), "rule(outer(a inner(b)) c)")
  })

  it("are not inside of a constant, nor alone inside of a function", () => {
    assert.strictEqual(arrange({ a: [], b: [], TABLE: ["a", "b"], rule: ["TABLE"] }, "rule"), "rule(a b TABLE)")
    assert.strictEqual(arrange({ a: [], rule: ["a"] }, "rule"), "a rule")
  })

  it("are not inside of a function that would use more from outside than Lua allows", () => {
    const shared = Array.from({ length: 59 }, (_, n) => `shared${n}`)
    const uses = (of: ReadonlyArray<string>) => ({
      ...Object.fromEntries(shared.map((name) => [name, []])),
      a: [],
      b: of,
      host: ["a", "b"],
      c: [],
      rule: ["host", "c", ...shared],
    })
    assert.include(arrange(uses(shared), "rule"), "host(a b)")
    assert.notInclude(arrange({ more: [], ...uses([...shared, "more"]), d: ["more"] }, "rule", "d"), "host(")
  })

  it("are not copied into a lazy function that reaches them only through what is declared outside", () => {
    const uses = { a: [], b: [], v: ["a", "b"], x: [], lazy: ["v", "x"], rule: ["v", "lazy"] }
    assert.strictEqual(arrangeLazy(uses, ["lazy"], "rule"), "rule(v(a b) lazy(x))")
  })

  it("are refused where a lazy function would use more from outside than Lua allows", () => {
    const shared = Array.from({ length: 60 }, (_, n) => `shared${n}`)
    const uses = {
      ...Object.fromEntries(shared.map((name) => [name, []])),
      own: [],
      lazy: ["own", ...shared],
      rule: ["lazy", ...shared.slice(1)],
    }
    assert.include(arrangeLazy(uses, ["lazy"], "rule"), "lazy(shared0 own)")
    assert.throws(() => arrangeLazy({ ...uses, rule: ["lazy", ...shared] }, ["lazy"], "rule"), "lazy would use 61")
  })
})
