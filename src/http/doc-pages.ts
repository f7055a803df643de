/**
 * Serves the documentation pages below `/docs`, which the build renders; without a build there are none. A page loads only its
 * stylesheet.
 */
import { readdir, readFile } from "node:fs/promises"
import { extname } from "node:path"
import { Context, Effect } from "effect"
import { type Document, makeDocument } from "../serving/documents.ts"
import { packageFile } from "../serving/package-files.ts"

/** Where the rendered pages are. When run from the sources, those of the last build are served. */
export const DocPageFiles = Context.Reference<ReadonlyArray<URL>>("voicegate/http/DocPageFiles", {
  defaultValue: () => [packageFile("docs/"), packageFile("../dist/docs/")],
})

const HEADERS = { "cache-control": "no-cache", "x-content-type-options": "nosniff" }

const HEADERS_BY_TYPE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ".html": {
    ...HEADERS,
    "content-type": "text/html; charset=utf-8",
    "content-security-policy":
      "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
  },
  ".css": { ...HEADERS, "content-type": "text/css; charset=utf-8" },
}

const namesIn = (directory: URL): Effect.Effect<ReadonlyArray<string>> =>
  Effect.tryPromise(() => readdir(directory)).pipe(Effect.orElseSucceed(() => []))

/** Every page and the stylesheet, by path. Each is read on its first request. */
export const docPages: Effect.Effect<ReadonlyMap<string, () => Promise<Document>>> = Effect.gen(function* () {
  const pages = new Map<string, () => Promise<Document>>()
  for (const directory of yield* DocPageFiles) {
    const names = yield* namesIn(directory)
    if (!names.some((name) => extname(name) === ".html")) continue
    for (const name of names) {
      const headers = HEADERS_BY_TYPE[extname(name)]
      if (headers === undefined) continue
      pages.set(`/docs/${name.replace(/\.html$/, "")}`, async () =>
        makeDocument(await readFile(new URL(name, directory)), headers),
      )
    }
    return pages
  }
  return pages
})
