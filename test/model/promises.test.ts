import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { CONTROL_PROMISES } from "./control.ts"
import { PROMISES } from "./promises.ts"

const root = join(import.meta.dirname, "../..")
const JUDGES = ["test/model", "test/simulation", "test/chaos", "test/soak"]

const sources = JUDGES.flatMap((directory) =>
  readdirSync(join(root, directory), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => readFileSync(join(root, directory, file), "utf8")),
)

describe("the promises", () => {
  it.each([
    [["promises.md"], PROMISES],
    [["control.md", "control-reference.md"], CONTROL_PROMISES],
  ] as const)("are stated in %s, word for word", (names, promises) => {
    const text = names.map((name) => readFileSync(join(root, "src/docs", name), "utf8")).join("\n")
    const document = text.replaceAll(/\s+/g, " ")
    for (const promise of Object.values(promises)) assert.include(document, promise)
  })

  it("of budgets stand among the guarantees too, beside those of slots and order", () => {
    const document = readFileSync(join(root, "src/docs/promises.md"), "utf8").replaceAll(/\s+/g, " ")
    for (const promise of [CONTROL_PROMISES.B1, CONTROL_PROMISES.B2]) assert.include(document, promise)
  })

  it("are all judged, and no other is cited", () => {
    const cited = sources.flatMap((text) =>
      [...text.matchAll(/[`"]([BCEHILOT]\d):/g)].flatMap(([, name]) => name ?? []),
    )
    assert.sameMembers([...new Set(cited)], [...Object.keys(PROMISES), ...Object.keys(CONTROL_PROMISES)])
  })
})
