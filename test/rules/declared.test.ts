/** How the options of a rule are read from the source, for its Lua. */
import { assert, describe, it } from "@effect/vitest"
import ts from "typescript"
import { expiresOf, textsOf } from "../../scripts/rules/declared.ts"

/** Options that are written like this. */
const written = (options: string): ts.Expression => {
  const source = ts.createSourceFile("options.ts", `(${options})`, ts.ScriptTarget.ESNext, true)
  const [statement] = source.statements
  assert(statement !== undefined && ts.isExpressionStatement(statement))
  assert(ts.isParenthesizedExpression(statement.expression))
  return statement.expression.expression
}

const read = (options: string): ReadonlyArray<string> => textsOf(written(options))

describe("the texts of a rule", () => {
  it("are those in its options, else its data", () => {
    assert.deepStrictEqual(textsOf(undefined), ["data"])
    assert.deepStrictEqual(read("{ batch: true }"), ["data"])
    assert.deepStrictEqual(read('{ batch: true, texts: ["id", "data"] }'), ["id", "data"])
  })

  it("must be written out, because nothing is run", () => {
    assert.throws(() => read("options"), "must be an object with each option in it")
    assert.throws(() => read("{ ...options }"), "must be an object with each option in it")
    assert.throws(() => read("{ texts }"), "must be a list of string literals")
    assert.throws(() => read("{ texts: [ID] }"), "must be a list of string literals")
  })
})

describe("a rule with a deadline", () => {
  it("says so in its options, written out", () => {
    assert.isTrue(expiresOf(written("{ expires: true, batch: true }")))
    assert.isFalse(expiresOf(written("{ batch: true }")))
    assert.isFalse(expiresOf(undefined))
    assert.throws(() => expiresOf(written("{ expires: isLate }")), "must be true, or absent")
  })
})
