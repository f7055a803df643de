/**
 * Serves the documentation pages below `/docs`, which the build renders; without a build there are none. A page loads only its
 * stylesheet, its script and its pictures, and the search the other pages.
 */
import { readdir, readFile } from "node:fs/promises"
import type { IncomingMessage, ServerResponse } from "node:http"
import { extname } from "node:path"
import { promisify } from "node:util"
import { gunzip } from "node:zlib"
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
  page: string,
  { method }: IncomingMessage,
  response: ServerResponse,
): void => {
  const docs = "../".repeat(path.split("/").length - 3)
  const body = Buffer.from(page.replaceAll('"DOCS/', `"${docs}`))
  response.writeHead(404, { ...HEADERS_BY_TYPE[".html"], "cache-control": "no-store", "content-length": body.length })
  response.end(method === "HEAD" ? undefined : body)
}

/** Leads from `/docs/` to `/docs`. */
export const redirectToDocs = ({ url = "" }: IncomingMessage, response: ServerResponse): void => {
  const [, query] = url.split(/(?=\?)/)
  response.writeHead(308, { location: `../docs${query ?? ""}`, "content-length": 0 }).end()
}

const namesIn = (directory: URL): Effect.Effect<ReadonlyArray<string>> =>
  Effect.tryPromise(() => readdir(directory)).pipe(Effect.orElseSucceed(() => []))

/** The ending of a file that is gzipped, as the pages are, so that the package stays small. */
const PACKED = ".gz"

const fileIn = async (directory: URL, name: string): Promise<Buffer> => {
  const bytes = await readFile(new URL(name, directory))
  return name.endsWith(PACKED) ? promisify(gunzip)(bytes) : bytes
}

/** The quick start, which is also the page at `/docs` itself. */
const START = "start.html"

/** A page as it is at `/docs`, from where its links lead one step further. */
export const asIndex = (page: string): string =>
  page.replaceAll(/(<(?:a|img|link|script)\b[^>]*? (?:href|src)=")(?!https:|data:|#)/g, "$1docs/")

/** The page for unknown addresses, which has no address of its own. */
const UNKNOWN = "404.html"

export interface DocPages {
  /** every page and its files, by path; each is read on its first request */
  readonly pages: ReadonlyMap<string, () => Promise<Document>>
  /** the page for unknown addresses; undefined without a build */
  readonly unknown: string | undefined
}

export const docPages: Effect.Effect<DocPages> = Effect.gen(function* () {
  const pages = new Map<string, () => Promise<Document>>()
  for (const directory of yield* DocPageFiles) {
    const names = yield* namesIn(directory)
    if (!names.includes(UNKNOWN + PACKED)) continue
    for (const file of names) {
      const name = file.endsWith(PACKED) ? file.slice(0, -PACKED.length) : file
      const headers = HEADERS_BY_TYPE[extname(name)]
      if (headers === undefined || name === UNKNOWN) continue
      const read = () => fileIn(directory, file)
      pages.set(`/docs/${name.replace(/\.html$/, "")}`, async () => makeDocument(await read(), headers))
      if (name === START)
        pages.set("/docs", async () => makeDocument(Buffer.from(asIndex((await read()).toString())), headers))
    }
    const unknown = yield* Effect.tryPromise(() => fileIn(directory, UNKNOWN + PACKED)).pipe(
      Effect.map((page) => page.toString()),
      Effect.orElseSucceed(() => undefined),
    )
    return { pages, unknown }
  }
  return { pages, unknown: undefined }
})
