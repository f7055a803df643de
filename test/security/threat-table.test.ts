/** The table of threats names tests that exist, and every item of both lists. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const tests = fileURLToPath(new URL("..", import.meta.url))
const table = readFileSync(new URL("README.md", import.meta.url), "utf8")
const rows = table.split("\n").filter((line) => /^\| (API|V)\d/.test(line))
const named = rows.flatMap((row) =>
  [...row.matchAll(/`([\w./-]+\.test\.ts)` "([^"]+)"/g)].map(([, file = "", name = ""]) => ({ row, file, name })),
)

describe("the table of threats", () => {
  it("has a row for every item of both lists, with a test for each that applies", () => {
    for (const item of [
      ...Array.from({ length: 10 }, (_, n) => `API${n + 1}`),
      ...Array.from({ length: 17 }, (_, n) => `V${n + 1}`),
    ]) {
      assert.isTrue(
        rows.some((row) => row.startsWith(`| ${item} `)),
        item,
      )
    }
    for (const row of rows) {
      if (row.includes("| not used |")) continue
      assert.match(row, /\.test\.ts` "/, row)
    }
  })

  it("names tests that are there", () => {
    assert.isAbove(named.length, 60)
    for (const { file, name } of named) {
      assert.isTrue(existsSync(`${tests}${file}`), file)
      const text = readFileSync(`${tests}${file}`, "utf8")
      // as a title, or a part of one: behind a quotation mark, on its line
      const title = new RegExp(`["\`][^"\`\\n]*${name.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}`)
      assert.match(text, title, file)
    }
  })

  it("leaves out no file of this directory", () => {
    const here = readdirSync(new URL(".", import.meta.url)).filter((name) => name.endsWith(".test.ts"))
    for (const name of here.filter((each) => each !== "threat-table.test.ts")) {
      assert.isTrue(
        named.some(({ file }) => file === `security/${name}`),
        name,
      )
    }
  })
})
