/**
 * Serves the files of a page that Vite has built: `index.html`, and `assets/` whose names contain a hash of the content. Each is read
 * and compressed once, on its first request. Only names that are there when the layer is built are served, so that no path leaves the
 * folder.
 */
import { readdir, readFile } from "node:fs/promises"
import { extname, join } from "node:path"
import { Effect } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { answerDocument } from "./answer-document.ts"
import { lazyDocument, makeDocument } from "./documents.ts"

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
}

const FOREVER = "public, max-age=31536000, immutable"

type Answer = Effect.Effect<HttpServerResponse.HttpServerResponse, never, HttpServerRequest.HttpServerRequest>

const namesIn = (directory: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.tryPromise(() => readdir(directory)).pipe(Effect.orElseSucceed(() => []))

/**
 * Answers for the page and for an asset, 404 where there is none. An asset is found by the last part of the request's path.
 *
 * @param root the output directory of Vite
 * @param headers are sent with every file
 */
export const makePageFiles = Effect.fnUntraced(function* (root: string, headers: Readonly<Record<string, string>>) {
  const missing = HttpServerResponse.empty({ status: 404, headers: { ...headers, "cache-control": "no-store" } })
  const prepared = (path: string, cacheControl: string): Answer =>
    answerDocument(
      lazyDocument(async () =>
        makeDocument(await readFile(join(root, path)), {
          ...headers,
          "content-type": TYPES[extname(path)] ?? "application/octet-stream",
          "cache-control": cacheControl,
        }),
      ),
    )
  const assets = new Map(
    (yield* namesIn(join(root, "assets"))).map((name) => [name, prepared(`assets/${name}`, FOREVER)] as const),
  )
  const index: Answer = (yield* namesIn(root)).includes("index.html")
    ? prepared("index.html", "no-cache")
    : Effect.succeed(missing)
  const asset: Answer = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) => {
    const path = url.split("?", 1)[0] ?? ""
    return assets.get(path.slice(path.lastIndexOf("/assets/") + "/assets/".length)) ?? Effect.succeed(missing)
  })
  return { index, asset }
})
