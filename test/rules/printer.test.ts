/** How the Lua of a rule joins texts, and that it means the same. */
import { assert, describe, it } from "@effect/vitest"
import * as tstl from "typescript-to-lua"
import { rulePrinter } from "../../scripts/rules/printer.ts"

/** The Lua of each expression over three texts and a number. */
const luaOf = (...expressions: ReadonlyArray<string>): ReadonlyArray<string> => {
  const text = expressions.map((each, i) => `export const x${i} = ${each}`).join("\n")
  const { file } = tstl.transpileString(`declare const a: string, b: string, c: string, n: number\n${text}`, {
    luaTarget: tstl.LuaTarget.Lua51,
    noImplicitSelf: true,
    noHeader: true,
    luaPlugins: [{ plugin: rulePrinter }],
  })
  return [...(file?.lua ?? "").matchAll(/____exports\.x\d+ = (.*)/g)].map(([, lua = ""]) => lua)
}

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
