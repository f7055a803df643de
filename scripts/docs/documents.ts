/** The documents of `src/docs`: their names, in the order in which pages list them, and their texts. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

export const folder: string = join(import.meta.dirname, "../../src/docs")

/** The documents in groups, as pages list them. `start` is also the page at `/docs`. */
export const GROUPS = [
  { label: "Begin", names: ["start", "guides", "vendors", "configuration", "troubleshooting"] },
  { label: "Build in", names: ["embedding", "widget", "vendor-sdks", "headless", "application", "effect"] },
  { label: "Control", names: ["control", "control-reference"] },
  {
    label: "Run",
    names: ["deploying", "redis", "upgrading", "backup", "operating", "monitoring", "failures", "privacy"],
  },
  { label: "Look up", names: ["promises", "speed", "wire", "platform"] },
] as const
export type DocumentName = (typeof GROUPS)[number]["names"][number]
export const DOCUMENTS: ReadonlyArray<DocumentName> = GROUPS.flatMap(({ names }): ReadonlyArray<DocumentName> => names)

export const readDocument = (name: DocumentName): string => readFileSync(join(folder, `${name}.md`), "utf8")

/** A drawing of a document, which its page contains: `pictures/waiting.svg`. */
export const readDrawing = (href: string): string => {
  if (!/^pictures\/[a-z-]+\.svg$/.test(href))
    throw new Error(`A page contains drawings of src/docs/pictures only, not ${href}`)
  return readFileSync(join(folder, href), "utf8").trim()
}

/**
 * The file that the gate serves for a picture of a document. GitHub shows `pictures/console-light.webp` and `-dark`, which the package does not
 * have; the page has `console.webp`, the smaller of them, so that the package stays small.
 */
export const pagePicture = (name: string): string => {
  const file = `${name}.webp`
  if (!/^[a-z-]+$/.test(name) || !existsSync(join(folder, "pictures", file)))
    throw new Error(`There is no picture src/docs/pictures/${file}: node scripts/pictures.ts ${name}`)
  return file
}

/** The pictures that pages have. */
export const pagePictures = (): ReadonlyArray<string> =>
  readdirSync(join(folder, "pictures")).filter(
    (file) => /^[a-z-]+\.webp$/.test(file) && !/-(?:light|dark)\./.test(file),
  )

/** Width and height of a picture, from the head of its file as browsers write it (WebP, extended: RFC 9649 §2.7). */
export const sizeOf = (file: string): { readonly width: number; readonly height: number } => {
  const bytes = readFileSync(join(folder, "pictures", file))
  if (bytes.toString("latin1", 8, 16) !== "WEBPVP8X") throw new Error(`${file} is no WebP of scripts/pictures.ts.`)
  return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
}

export const titleOf = (markdown: string): string => {
  const title = /^# (.+)$/m.exec(markdown)?.[1]
  if (title === undefined) throw new Error("A document has no title.")
  return title
}

/** The names of documents that are in the folder, and not listed. */
export const unlisted = (): ReadonlyArray<string> =>
  readdirSync(folder).filter((file) => file.endsWith(".md") && !DOCUMENTS.some((name) => file === `${name}.md`))
