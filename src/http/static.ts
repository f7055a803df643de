/**
 * The widget's scripts, at any gate: public, the same for every page, with a strong ETag (RFC 9110 §8.8.3) of their
 * content. Read once, at the start; a gate that was never built has none.
 */
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import type { IncomingMessage, ServerResponse } from "node:http"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { constants, gzip } from "node:zlib"
import { Context, Effect } from "effect"
import { header } from "./incoming.ts"

/** The built pages. Here, because what is bundled knows only how deep below `dist` it is: one level. */
export const webRoot = fileURLToPath(new URL("../web", import.meta.url))

/** Where the built scripts are. From the sources there are none beside them, so those of the last build are taken. */
export const WidgetFiles = Context.Reference<ReadonlyArray<URL>>("voicegate/http/WidgetFiles", {
  defaultValue: () => [new URL("../web/widget/", import.meta.url), new URL("../../dist/web/widget/", import.meta.url)],
})

/** By their paths at the gate. */
const FILES = { "/widget.js": "widget.js", "/widget.classic.js": "widget.classic.js", "/widget/audio.js": "audio.js" }

const HEADERS = {
  "content-type": "text/javascript; charset=utf-8",
  // a page picks a new version up soon, and never waits for it
  "cache-control": "public, max-age=300, stale-while-revalidate=86400",
  // anybody's page may load them, as script, module or worklet, also one that is isolated (COEP)
  "access-control-allow-origin": "*",
  "cross-origin-resource-policy": "cross-origin",
  "x-content-type-options": "nosniff",
  vary: "Accept-Encoding",
}

interface Variant {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
}

interface File {
  readonly plain: Variant
  readonly gzipped: Variant
}

const variant = (body: Buffer, encoding: Readonly<Record<string, string>>): Variant => ({
  body,
  headers: { ...HEADERS, ...encoding, etag: `"${createHash("sha256").update(body).digest("base64url")}"` },
})

const read = Effect.fnUntraced(function* (directories: ReadonlyArray<URL>, name: string) {
  const contents = directories.map((directory) =>
    Effect.option(Effect.tryPromise(() => readFile(new URL(name, directory)))),
  )
  const body = (yield* Effect.all(contents)).find((content) => content._tag === "Some")?.value
  if (body === undefined) return undefined
  const gzipped = yield* Effect.promise(() => promisify(gzip)(body, { level: constants.Z_BEST_COMPRESSION }))
  return { plain: variant(body, {}), gzipped: variant(gzipped, { "content-encoding": "gzip" }) }
})

/** Whether this request's answer may be compressed (RFC 9110 §12.5.3). */
const takesGzip = (request: IncomingMessage): boolean =>
  /(?:^|,)\s*gzip\s*(?:,|$|;(?!\s*q=0(?:\.0*)?\s*(?:,|$)))/i.test(header(request, "accept-encoding") ?? "")

const send = (request: IncomingMessage, response: ServerResponse, { body, headers }: Variant): void => {
  const known = (header(request, "if-none-match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""))
  const { etag = "" } = headers
  if (known.includes(etag) || known.includes("*")) {
    response.writeHead(304, headers).end()
    return
  }
  response.writeHead(200, { ...headers, "content-length": body.length })
  response.end(request.method === "HEAD" ? undefined : body)
}

/** Answers a request for one of the scripts, and says whether it was one. */
export const makeStatic: Effect.Effect<(path: string, request: IncomingMessage, response: ServerResponse) => boolean> =
  Effect.gen(function* () {
    const directories = yield* WidgetFiles
    const files = new Map<string, File>()
    for (const [path, name] of Object.entries(FILES)) {
      const file = yield* read(directories, name)
      if (file !== undefined) files.set(path, file)
    }
    return (path, request, response) => {
      const file = files.get(path)
      if (file === undefined || (request.method !== "GET" && request.method !== "HEAD")) return false
      send(request, response, takesGzip(request) ? file.gzipped : file.plain)
      return true
    }
  })
