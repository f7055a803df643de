/** The list of planted faults fits the program: no change of a source takes the place away unseen at which a fault is planted. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { scenarios } from "./index.ts"
import { planted } from "./planted.ts"

const root = join(import.meta.dirname, "../..")

describe("each planted fault", () => {
  it("has a name of its own", () => {
    assert.lengthOf(new Set(planted.map(({ name }) => name)), planted.length)
  })

  for (const { file, from, name, scenario, to } of planted) {
    it(`has one place in its file, and its scenario: ${name}`, () => {
      assert.lengthOf(readFileSync(join(root, file), "utf8").split(from), 2, `${file} has it once: ${from}`)
      assert.notStrictEqual(from, to)
      assert.include(
        scenarios.map((each) => each.name),
        scenario,
      )
    })
  }
})
