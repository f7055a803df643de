/**
 * Serves the documentation pages below `/docs`, which the build renders; without a build there are none. A page loads only its
 * stylesheet, its script and its pictures, and the search the other pages.
 */
import { readdir, readFile } from "node:fs/promises"
import type { IncomingMessage, ServerResponse } from "node:http"
import { extname } from "node:path"
import { Context, Effect } from "effect"
import { type Document, makeDocument } from "../../serving/documents.ts"
import { packageFile } from "../../serving/package-files.ts"

/** Where the rendered pages are. When run from the sources, those of the last build are served. */
export const DocPageFiles = Context.Reference<ReadonlyArray<URL>>("voicegate/http/DocPageFiles", {
  defaultValue: () => [packageFile("docs/"), packageFile("../dist/docs/")],
})

const HEADERS = { "cache-control": "no-cache", "x-content-type-options": "nosniff" }

export const HEADERS_BY_TYPE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ".html": {
    ...HEADERS,
    "content-type": "text/html; charset=utf-8",
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
  },
  ".css": { ...HEADERS, "content-type": "text/css; charset=utf-8" },
  ".js": { ...HEADERS, "content-type": "text/javascript; charset=utf-8" },
  ".webp": { ...HEADERS, "content-type": "image/webp" },
}

/** Whether somebody reads the answer in a browser: programs ask for any type, or for JSON. */
export const acceptsHtml = ({ headers }: IncomingMessage): boolean => /\btext\/html\b/i.test(headers.accept ?? "")

/** Answers 404 with a page that lists the documents. Its links are relative, because the gate may be mounted below a path. */
export const sendUnknownPage = (
  path: string,
  names: ReadonlyArray<string>,
  { method }: IncomingMessage,
  response: ServerResponse,
): void => {
  const docs = "../".repeat(path.split("/").length - 3)
  const links = names.map((name) => `<li><a href="${docs}${name}">${name}</a></li>`).join("")
  const body = Buffer.from(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>No such document · voicegate</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${docs}style.css">
</head>
<body>
<main><h1>No such document</h1><p>These are the documents:</p><ul>${links}<li><a href="${docs}api">API reference</a></li></ul></main>
</body>
</html>
`)
  response.writeHead(404, { ...HEADERS_BY_TYPE[".html"], "cache-control": "no-store", "content-length": body.length })
  response.end(method === "HEAD" ? undefined : body)
}

const namesIn = (directory: URL): Effect.Effect<ReadonlyArray<string>> =>
  Effect.tryPromise(() => readdir(directory)).pipe(Effect.orElseSucceed(() => []))

/** Where a file is served. The quick start is also the page at `/docs` itself. */
const pathOf = (name: string): string => (name === "index.html" ? "/docs" : `/docs/${name.replace(/\.html$/, "")}`)

/** Every page and its files, by path. Each is read on its first request. */
export const docPages: Effect.Effect<ReadonlyMap<string, () => Promise<Document>>> = Effect.gen(function* () {
  const pages = new Map<string, () => Promise<Document>>()
  for (const directory of yield* DocPageFiles) {
    const names = yield* namesIn(directory)
    if (!names.some((name) => extname(name) === ".html")) continue
    for (const name of names) {
      const headers = HEADERS_BY_TYPE[extname(name)]
      if (headers === undefined) continue
      pages.set(pathOf(name), async () => makeDocument(await readFile(new URL(name, directory)), headers))
    }
    return pages
  }
  return pages
})
