/**
 * The widget's scripts, at any gate: public, the same for every page. Read once, at the start; a gate that was never built has
 * none.
 */
import { readFile } from "node:fs/promises"
import type { IncomingMessage, ServerResponse } from "node:http"
import { fileURLToPath } from "node:url"
import { Context, Effect } from "effect"
import { type Document, isDocumentRequest, makeDocument, sendDocument } from "../serving/documents.ts"

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
}

const read = Effect.fnUntraced(function* (directories: ReadonlyArray<URL>, name: string) {
  const contents = directories.map((directory) =>
    Effect.option(Effect.tryPromise(() => readFile(new URL(name, directory)))),
  )
  const body = (yield* Effect.all(contents)).find((content) => content._tag === "Some")?.value
  return body === undefined ? undefined : yield* Effect.promise(() => makeDocument(body, HEADERS))
})

/** Answers a request for one of the scripts, and says whether it was one. */
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
