import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { PROMISES } from "./promises.ts"

const root = join(import.meta.dirname, "../..")
const JUDGES = ["test/model", "test/simulation", "test/chaos", "test/soak"]

const sources = JUDGES.flatMap((directory) =>
  readdirSync(join(root, directory), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => readFileSync(join(root, directory, file), "utf8")),
)

describe("the promises", () => {
  it("are stated in promises.md, word for word", () => {
    const document = readFileSync(join(root, "src/docs/promises.md"), "utf8").replaceAll(/\s+/g, " ")
    for (const promise of Object.values(PROMISES)) assert.include(document, promise)
  })

  it("are all judged, and no other is cited", () => {
    const cited = sources.flatMap((text) => [...text.matchAll(/[`"](I\d):/g)].flatMap(([, name]) => name ?? []))
    assert.sameMembers([...new Set(cited)], Object.keys(PROMISES))
  })
})
