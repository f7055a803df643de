/** The list of planted faults matches the program: a changed source line cannot silently disable a planted fault. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { scenarios } from "./index.ts"
import { planted } from "./planted.ts"

const root = join(import.meta.dirname, "../..")

describe("each planted fault", () => {
  it("has a unique name", () => {
    assert.lengthOf(new Set(planted.map(({ name }) => name)), planted.length)
  })

  for (const { file, from, name, scenario, to } of planted) {
    it(`has exactly one place in its file, and its scenario exists: ${name}`, () => {
      assert.lengthOf(readFileSync(join(root, file), "utf8").split(from), 2, `${file} has it once: ${from}`)
      assert.notStrictEqual(from, to)
      assert.include(
        scenarios.map((each) => each.name),
        scenario,
      )
    })
  }
})
