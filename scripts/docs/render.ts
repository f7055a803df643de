/**
 * Renders the documents of `src/docs` as the pages that the gate serves below `/docs`, with their stylesheet and their scripts:
 *
 *     node scripts/docs/render.ts DIRECTORY
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { buildSync } from "esbuild"
import { DOCUMENTS, folder, pagePictures, unlisted } from "./documents.ts"
import { renderPage, renderUnknownPage } from "./page.ts"

const web = join(import.meta.dirname, "../../src/web")
const tokens = join(web, "shared/styles/tokens.css")

/** The pages' stylesheet, with the design tokens of all pages of the gate. */
export const renderStyle = (): string =>
  [tokens, ...["text.css", "code.css", "page.css", "search.css"].map((file) => join(folder, file))]
    .map((file) => readFileSync(file, "utf8"))
    .join("\n")

/** `page.js`, and what it loads: `search.js` when the reader searches, `moved.js` for an unknown section. */
const writeScripts = (directory: string): void => {
  buildSync({
    entryPoints: ["page", "search", "moved"].map((name) => join(web, `docs/${name}.ts`)),
    outdir: directory,
    bundle: true,
    splitting: true,
    format: "esm",
    target: "es2022",
    minify: true,
    // MiniSearch's licence asks for its notice
    banner: { js: "/*! search.js contains MiniSearch, copyright Luca Ongaro, MIT licence */" },
  })
}

/** Writes all pages and their files into a directory; the pages are gzipped, so that the package stays small. */
export const writePages = (directory: string): void => {
  const [missing] = unlisted()
  if (missing !== undefined) throw new Error(`${missing} is missing in DOCUMENTS.`)
  mkdirSync(directory, { recursive: true })
  const write = (name: string, page: string): void =>
    writeFileSync(join(directory, `${name}.html.gz`), gzipSync(page, { level: 9 }))
  for (const name of DOCUMENTS) write(name, renderPage(name))
  write("404", renderUnknownPage())
  for (const file of pagePictures()) copyFileSync(join(folder, "pictures", file), join(directory, file))
  writeFileSync(join(directory, "style.css"), renderStyle())
  writeScripts(directory)
}

if (process.argv[1] === import.meta.filename) {
  const [, , directory] = process.argv
  if (directory === undefined) {
    console.error("usage: node scripts/docs/render.ts DIRECTORY")
    process.exit(2)
  }
  writePages(directory)
}
