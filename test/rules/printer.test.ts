/** How the Lua of a rule is printed, and that it means the same. */
import { assert, describe, it } from "@effect/vitest"
import * as tstl from "typescript-to-lua"
import { type Declaration, rulePrinter } from "../../scripts/rules/printer.ts"

/** The declarations of a text over three texts, a number and a store. */
const printed = (text: string, ...lazy: ReadonlyArray<string>): ReadonlyArray<Declaration> => {
  const found: Array<Declaration> = []
  const given = "declare const a: string, b: string, c: string, n: number, s: { db: { hget(key: string): string } }"
  tstl.transpileString(`${given}\n${text}\nexport {}`, {
    lib: ["lib.esnext.d.ts"],
    types: [],
    luaTarget: tstl.LuaTarget.Lua51,
    luaLibImport: tstl.LuaLibImportKind.None,
    noImplicitSelf: true,
    noHeader: true,
    luaPlugins: [{ name: "rules", plugin: rulePrinter(new Set(lazy), (each) => found.push(...each)) }],
  })
  return found
}

/** The Lua of each expression. */
const luaOf = (...expressions: ReadonlyArray<string>): ReadonlyArray<string> =>
  printed(expressions.map((each, i) => `const x${i} = ${each}`).join("\n")).map(({ lazy }) => lazy)

describe("texts in the Lua of a rule", () => {
  it("are joined at once, and everything else keeps its parentheses", () => {
    const expected = {
      'a + b + c + "d"': 'a .. b .. c .. "d"',
      "`${a} ${b} ${c}`": 'a .. " " .. b .. " " .. c',
      "(a + b) + (b + c)": "a .. b .. b .. c",
      "a + (n - 1 - 2) + c": "a .. tostring(n - 1 - 2) .. c",
      "(a + b + c) === c": "a .. b .. c == c",
      "(a + b + c).length": "#(a .. b .. c)",
      "n - (n - 1)": "n - (n - 1)",
    }
    assert.deepStrictEqual(luaOf(...Object.keys(expected)), Object.values(expected))
  })
})

describe("a declaration of the rules", () => {
  it("names others as variables, and lazy ones in their table", () => {
    const text = "const few = () => a\nconst hget = (key: string) => key\nconst rule = () => few() + s.db.hget(a)"
    const rule = printed(text, "few").find(({ name }) => name === "rule")
    assert.deepStrictEqual([...(rule?.uses ?? [])], ["few", "hget"])
    assert.include(rule?.statement, "return lazy.few() .. hget(a)")
    assert.match(rule?.statement ?? "", /^local function rule\(/)
    assert.include(rule?.lazy, "return lazy.few() .. lazy.hget(a)")
    assert.match(rule?.lazy ?? "", /^function\(/)
  })

  it("does not take a local variable of the same name for it", () => {
    const [, rule] = printed("const few = () => n\nconst rule = () => { const few = 1; return few }", "few")
    assert.deepStrictEqual([...(rule?.uses ?? [])], [])
    assert.notInclude(rule?.statement, "lazy.")
  })
})
