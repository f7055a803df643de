/** The documents of `src/docs`: their names, in the order in which pages list them, and their texts. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

export const folder: string = join(import.meta.dirname, "../../src/docs")

/** `start` is also the page at `/docs`. */
export const DOCUMENTS = [
  "start",
  "guides",
  "configuration",
  "wire",
  "embedding",
  "control",
  "operating",
  "promises",
  "platform",
  "vendors",
] as const
export type DocumentName = (typeof DOCUMENTS)[number]

export const readDocument = (name: DocumentName): string => readFileSync(join(folder, `${name}.md`), "utf8")

/** A drawing of a document, which its page contains: `pictures/waiting.svg`. */
export const readDrawing = (href: string): string => {
  if (!/^pictures\/[a-z-]+\.svg$/.test(href))
    throw new Error(`A page contains drawings of src/docs/pictures only, not ${href}`)
  return readFileSync(join(folder, href), "utf8").trim()
}

export const titleOf = (markdown: string): string => {
  const title = /^# (.+)$/m.exec(markdown)?.[1]
  if (title === undefined) throw new Error("A document has no title.")
  return title
}

/** The names of documents that are in the folder, and not listed. */
export const unlisted = (): ReadonlyArray<string> =>
  readdirSync(folder).filter((file) => file.endsWith(".md") && !DOCUMENTS.some((name) => file === `${name}.md`))
