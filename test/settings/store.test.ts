import { assert, describe, it } from "@effect/vitest"
import { minimal, problemsOf, valid } from "./support.ts"

describe("the store", () => {
  it("is a problem when its connection string cannot be read, with what is expected", () => {
    const [problem] = problemsOf({ ...minimal, StoreConnectionString: "redis://:hunter22@a,b" })
    assert.deepStrictEqual(problem, {
      path: "StoreConnectionString",
      expected: "one host; several need redis+cluster:// or redis+sentinel://",
      found: "a value that is not shown, in the settings file",
    })
  })

  it("has warnings about ignored options", () => {
    const { warnings } = valid({ ...minimal, StoreConnectionString: "cache,abortConnect=false" })
    assert.include(warnings, "StoreConnectionString: the option abortConnect is ignored.")
  })

  it("causes no warning when memory is set explicitly", () => {
    const { warnings } = valid({ ...minimal, StoreConnectionString: "memory:" })
    assert.isFalse(warnings.some((warning) => warning.includes("StoreConnectionString")))
  })
})
