/**
 * Serves the widget's scripts, its texts in other languages than English, and the page that previews the widget. All are public, and
 * read once, at start; without a build there are none.
 */
import { readdir, readFile } from "node:fs/promises"
import type { IncomingMessage, ServerResponse } from "node:http"
import { fileURLToPath } from "node:url"
import { Context, Effect } from "effect"
import { type Document, isDocumentRequest, makeDocument, sendDocument } from "../../serving/documents.ts"
import { packageFile } from "../../serving/package-files.ts"
import { internalError } from "../answers/answer.ts"
import { write } from "../answers/write-answer.ts"
import { previewDocuments } from "./preview.ts"

/** The built pages. */
export const webRoot = fileURLToPath(packageFile("web"))

/** Where the built files are. When run from the sources, those of the last build are served. */
export const WidgetFiles = Context.Reference<ReadonlyArray<URL>>("voicegate/http/WidgetFiles", {
  defaultValue: () => [packageFile("web/widget/"), packageFile("../dist/web/widget/")],
})

const SCRIPTS = {
  "/widget.js": "widget.js",
  "/widget.classic.js": "widget.classic.js",
  "/widget/visit.js": "visit.js",
  "/widget/screens.js": "screens.js",
  "/widget/extras.js": "extras.js",
  "/widget/vendors.js": "vendors.js",
  "/widget/audio.js": "audio.js",
  "/widget/preview.js": "preview.js",
}

const HEADERS = {
  // pages get a new version soon, without waiting for it
  "cache-control": "public, max-age=300, stale-while-revalidate=86400",
  // any page may load them as script, module or worklet, also a cross-origin isolated one (COEP)
  "access-control-allow-origin": "*",
  "cross-origin-resource-policy": "cross-origin",
  "x-content-type-options": "nosniff",
}

const read = Effect.fnUntraced(function* (directories: ReadonlyArray<URL>, name: string, type: string) {
  const contents = directories.map((directory) =>
    Effect.option(Effect.tryPromise(() => readFile(new URL(name, directory)))),
  )
  const body = (yield* Effect.all(contents)).find((content) => content._tag === "Some")?.value
  if (body === undefined) return undefined
  return yield* Effect.promise(() => makeDocument(body, { ...HEADERS, "content-type": type }))
})

/**
 * The directories of which every file is served: the texts of each language, the scripts that make each vendor's calls, and those that some
 * calls need besides.
 */
const DIRECTORIES = [
  { name: "languages/", extension: ".json", type: "application/json" },
  { name: "vendors/", extension: ".js", type: "text/javascript; charset=utf-8" },
  { name: "calls/", extension: ".js", type: "text/javascript; charset=utf-8" },
]

const namesIn = Effect.fnUntraced(function* (directories: ReadonlyArray<URL>, name: string, extension: string) {
  const names = directories.map((directory) =>
    Effect.tryPromise(() => readdir(new URL(name, directory))).pipe(Effect.orElseSucceed(() => [])),
  )
  return new Set((yield* Effect.all(names)).flat().filter((file) => file.endsWith(extension)))
})

type ServeStatic = (path: string, request: IncomingMessage, response: ServerResponse) => boolean

/**
 * Answers a request if it is for one of these files, and returns whether it was.
 *
 * @param allowedOrigins `Security.AllowedOrigins`: whose pages may frame the preview
 */
export const makeStatic = (allowedOrigins: () => ReadonlyArray<string>): Effect.Effect<ServeStatic> =>
  Effect.gen(function* (): Effect.fn.Return<ServeStatic> {
    const directories = yield* WidgetFiles
    const files = new Map<string, Document>()
    for (const [path, name] of Object.entries(SCRIPTS)) {
      const file = yield* read(directories, name, "text/javascript; charset=utf-8")
      if (file !== undefined) files.set(path, file)
    }
    for (const { extension, name: directory, type } of DIRECTORIES) {
      for (const name of yield* namesIn(directories, directory, extension)) {
        const file = yield* read(directories, directory + name, type)
        if (file !== undefined) files.set(`/widget/${directory}${name}`, file)
      }
    }
    if (files.size === 0) return () => false
    let previewFor = allowedOrigins()
    let preview = previewDocuments(previewFor)
    const previewPaths = new Set((yield* Effect.promise(() => preview)).keys())
    /** The preview's page names the origins that may frame it, so it changes with them. */
    const sendPreview = (path: string, request: IncomingMessage, response: ServerResponse): void => {
      if (previewFor !== allowedOrigins()) {
        previewFor = allowedOrigins()
        preview = previewDocuments(previewFor)
      }
      preview
        .then((documents) => {
          const document = documents.get(path)
          if (document !== undefined) sendDocument(request, response, document)
        })
        .catch(() => write(response, internalError))
    }
    return (path, request, response) => {
      if (previewPaths.has(path) && isDocumentRequest(request)) {
        sendPreview(path, request, response)
        return true
      }
      const file = files.get(path)
      if (file === undefined || !isDocumentRequest(request)) return false
      sendDocument(request, response, file)
      return true
    }
  })
