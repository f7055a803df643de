/** README and documents, as the tests of this folder read them. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { DOCUMENTS, readDocument } from "../../scripts/docs/documents.ts"

export const root = join(import.meta.dirname, "../..")

export const readme = readFileSync(join(root, "README.md"), "utf8")

/** README and every document, with the folder to which its links are relative. */
export const documents = [
  { name: "README.md", folder: root, markdown: readme },
  ...DOCUMENTS.map((name) => ({
    name: `${name}.md`,
    folder: join(root, "src/docs"),
    markdown: readDocument(name),
  })),
]

/** The text of a section with a heading of the second level. */
export const section = (document: string, heading: string): string =>
  document
    .split(/^## /m)
    .find((each) => each.startsWith(`${heading}\n`))
    ?.slice(heading.length) ?? ""

/** The cells of a table whose first column has code or a number. */
export const rows = (text: string): ReadonlyArray<ReadonlyArray<string>> =>
  text
    .split("\n")
    .filter((line) => /^\| [`\d]/.test(line))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )

/** Each `…` stands for a value of its own that is long enough for a secret. */
export const filledIn = (sample: string): string => {
  let count = 0
  return sample.replaceAll("…", () => `0123456789abcdef0123456789abcdef${String(count++).padStart(4, "0")}`)
}
