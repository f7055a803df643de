/** What README and documents name is there: links, anchors, files. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { DOCUMENTS } from "../../scripts/docs/documents.ts"
import { makeSlugs } from "../../scripts/docs/markdown.ts"
import { documents, readme, root } from "./texts.ts"

const withoutCode = (markdown: string): string => markdown.replace(/^```[\s\S]*?^```/gm, "")

const anchorsOf = (markdown: string): ReadonlyArray<string> => {
  const slugOf = makeSlugs()
  return [...withoutCode(markdown).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => slugOf(heading))
}

describe("README and documents", () => {
  it("have links and anchors that lead somewhere", () => {
    let links = 0
    for (const { folder, markdown, name } of documents) {
      for (const [, href = ""] of withoutCode(markdown).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (href.startsWith("https:")) continue
        const [file = "", anchor] = href.split("#")
        const target = file === "" ? markdown : readFileSync(join(folder, file), "utf8")
        if (anchor !== undefined) assert.include(anchorsOf(target), anchor, `${name}: ${href}`)
        links++
      }
    }
    assert.isAbove(links, 15)
  })

  it("say in CONTRIBUTING.md where things are, by files that exist", () => {
    const [, tables = ""] = readFileSync(join(root, ".github/CONTRIBUTING.md"), "utf8").split(/^## /m)
    const files = [...tables.matchAll(/`([\w./-]+\.tsx?)`/g)].map(([, file = ""]) => file)
    assert.isAbove(files.length, 30)
    assert.deepStrictEqual(
      files.filter((file) => !existsSync(join(root, "src", file))),
      [],
    )
  })

  it("name files of this repository that exist", () => {
    for (const { markdown, name } of documents) {
      const named = markdown.matchAll(/(?<![\w/.])((?:scripts|src|test)\/[\w./-]*\w)/g)
      for (const [, file = ""] of named) assert.isTrue(existsSync(join(root, file)), `${name}: ${file}`)
    }
  })
})

describe("the README", () => {
  it("has at most 200 lines, and links every document", () => {
    assert.isAtMost(readme.trimEnd().split("\n").length, 200)
    for (const name of DOCUMENTS) assert.include(readme, `(src/docs/${name}.md)`)
  })
})
