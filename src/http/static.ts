/**
 * Serves the widget's scripts, which are public. They are read once, at start; without a build there are none. `HttpStaticServer`,
 * which serves the operators' pages, does not compress, reads the file for each request, and makes its ETag of the file's time and
 * size, so instances differ.
 */
import { readFile } from "node:fs/promises"
import type { IncomingMessage, ServerResponse } from "node:http"
import { fileURLToPath } from "node:url"
import { Context, Effect } from "effect"
import { type Document, isDocumentRequest, makeDocument, sendDocument } from "../serving/documents.ts"

/** The built pages. Defined here because a bundled file only knows its depth below `dist`: one level. */
export const webRoot = fileURLToPath(new URL("../web", import.meta.url))

/** Where the built scripts are. When run from the sources, those of the last build are served. */
export const WidgetFiles = Context.Reference<ReadonlyArray<URL>>("voicegate/http/WidgetFiles", {
  defaultValue: () => [new URL("../web/widget/", import.meta.url), new URL("../../dist/web/widget/", import.meta.url)],
})

/** File names by path. */
const FILES = { "/widget.js": "widget.js", "/widget.classic.js": "widget.classic.js", "/widget/audio.js": "audio.js" }

const HEADERS = {
  "content-type": "text/javascript; charset=utf-8",
  // pages get a new version soon, without waiting for it
  "cache-control": "public, max-age=300, stale-while-revalidate=86400",
  // any page may load them as script, module or worklet, also a cross-origin isolated one (COEP)
  "access-control-allow-origin": "*",
  "cross-origin-resource-policy": "cross-origin",
  "x-content-type-options": "nosniff",
}

const read = Effect.fnUntraced(function* (directories: ReadonlyArray<URL>, name: string) {
  const contents = directories.map((directory) =>
    Effect.option(Effect.tryPromise(() => readFile(new URL(name, directory)))),
  )
  const body = (yield* Effect.all(contents)).find((content) => content._tag === "Some")?.value
  return body === undefined ? undefined : yield* Effect.promise(() => makeDocument(body, HEADERS))
})

/** Answers a request if it is for one of the scripts, and returns whether it was. */
export const makeStatic: Effect.Effect<(path: string, request: IncomingMessage, response: ServerResponse) => boolean> =
  Effect.gen(function* () {
    const directories = yield* WidgetFiles
    const files = new Map<string, Document>()
    for (const [path, name] of Object.entries(FILES)) {
      const file = yield* read(directories, name)
      if (file !== undefined) files.set(path, file)
    }
    return (path, request, response) => {
      const file = files.get(path)
      if (file === undefined || !isDocumentRequest(request)) return false
      sendDocument(request, response, file)
      return true
    }
  })
