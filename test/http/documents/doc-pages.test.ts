/** The documents of `src/docs` as the gate serves them, from pages that are rendered here as the build renders them. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, type Scope } from "effect"
import { DOCUMENTS } from "../../../scripts/docs/documents.ts"
import { renderPage } from "../../../scripts/docs/page.ts"
import { writePages } from "../../../scripts/docs/render.ts"
import * as AccessLog from "../../../src/http/access-log/access-log.ts"
import { DocPageFiles } from "../../../src/http/documents/doc-pages.ts"
import { Listeners, type Options } from "../../../src/http/Listeners.ts"
import * as ListenersLayer from "../../../src/http/server/listeners.ts"
import * as Server from "../../../src/http/server/server.ts"
import { layerLocal } from "../../../src/push-channel/layer.ts"
import { eventually } from "../../harness/process.ts"
import { gateLayer, makeWorld } from "../../support/gate.ts"
import { rawCall } from "../../support/gate-server.ts"

const directory = mkdtempSync(join(tmpdir(), "voicegate-docs-"))
writePages(directory)
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const BUILT = [new URL("file:///nowhere/"), pathToFileURL(`${directory}/`)]
const FILES = ["style.css", "page.js", "search.js"]
const PATHS = ["/docs", ...DOCUMENTS.map((name) => `/docs/${name}`), ...FILES.map((file) => `/docs/${file}`)]

type Docs = "public" | "private" | "off"

/** A gate with these pages, its public and its private port. */
const running = Effect.fnUntraced(function* (Docs: Docs = "public", files = BUILT, options: Options = {}) {
  let lines = ""
  const log = AccessLog.layer((more) => {
    lines += more
  })
  const context = yield* Layer.build(
    ListenersLayer.layer(options).pipe(
      Layer.provide([log, Layer.succeed(DocPageFiles, files)]),
      Layer.provideMerge(gateLayer(makeWorld(), { Server: { Docs } }, { push: layerLocal })),
    ),
  )
  const listeners = Context.get(context, Listeners)
  const listening = Effect.fnUntraced(function* (server: ReturnType<typeof Server.makeServer>) {
    yield* Effect.addFinalizer(() => Effect.sync(() => server.close().closeAllConnections()))
    return yield* Server.listen(server, "127.0.0.1", 0)
  })
  return {
    port: yield* listening(Server.makeServer(listeners)),
    privatePort: yield* listening(Server.makeServer({ ...listeners, request: listeners.privateRequest })),
    log: () => lines,
  }
})

const live = <E>(name: string, body: Effect.Effect<void, E, Scope.Scope>): void =>
  it.live(name, () => Effect.scoped(body))

describe("an address below /docs without a document", () => {
  live(
    "is answered to a browser with a page that lists the documents, and to a program with a problem document",
    Effect.gen(function* () {
      const { port } = yield* running()
      for (const [path, docs] of [
        ["/docs/embeding", ""],
        ["/docs/a/b", "../"],
      ] as const) {
        const page = yield* rawCall(port, { path, headers: { accept: "text/html,*/*;q=0.8" } })
        assert.deepStrictEqual([page.status, page.headers["content-type"]], [404, "text/html; charset=utf-8"])
        assert.include(page.text, `<a href="${docs}control-reference">Control in detail</a>`)
        assert.include(page.text, `<script type="module" src="${docs}page.js">`)
        assert.notInclude(page.text, "DOCS/")
        const problem = yield* rawCall(port, { path })
        assert.deepStrictEqual(
          [problem.status, problem.headers["content-type"]],
          [404, "application/problem+json; charset=utf-8"],
        )
      }
      const hidden = yield* running("private")
      const { headers } = yield* rawCall(hidden.port, { path: "/docs/embeding", headers: { accept: "text/html" } })
      assert.strictEqual(headers["content-type"], "application/problem+json; charset=utf-8")
    }),
  )
})

describe("a document's page", () => {
  live(
    "is served as rendered, in English, with a policy that allows only its own files",
    Effect.gen(function* () {
      const { port } = yield* running()
      for (const name of DOCUMENTS) {
        const { headers, status, text } = yield* rawCall(port, { path: `/docs/${name}` })
        assert.deepStrictEqual([status, headers["content-type"]], [200, "text/html; charset=utf-8"], name)
        assert.strictEqual(text, renderPage(name))
        assert.strictEqual(
          headers["content-security-policy"],
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        )
        assert.deepStrictEqual(
          ["x-content-type-options", "referrer-policy", "cross-origin-opener-policy"].map((each) => headers[each]),
          ["nosniff", "no-referrer", "same-origin"],
        )
        assert.notMatch(text, /<script(?! type="module" src="page.js">)|style="|<[^>]*\son\w+=/)
      }
      for (const [file, type] of [
        ["style.css", "text/css; charset=utf-8"],
        ["page.js", "text/javascript; charset=utf-8"],
        ["search.js", "text/javascript; charset=utf-8"],
      ]) {
        const { headers, status } = yield* rawCall(port, { path: `/docs/${file}` })
        assert.deepStrictEqual(
          [status, headers["content-type"], headers["x-content-type-options"]],
          [200, type, "nosniff"],
        )
      }
    }),
  )

  live(
    "of the quick start is also the page at /docs, whose links lead below /docs",
    Effect.gen(function* () {
      const { port } = yield* running()
      const { status, text } = yield* rawCall(port, { path: "/docs" })
      assert.strictEqual(status, 200)
      const links = [...text.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, link = ""]) => link)
      assert.includeMembers(links, ["docs/style.css", "docs/page.js", "docs/api", "docs/wire"])
      const elsewhere = links.filter((link) => !/^(#|https:|data:,$|docs\/)/.test(link))
      assert.deepStrictEqual(elsewhere, [])
    }),
  )

  live(
    "has one ETag, no body for HEAD, 304 with its ETag, and a line in the access log",
    Effect.gen(function* () {
      const { log, port } = yield* running()
      for (const path of PATHS) {
        const page = yield* rawCall(port, { path })
        const { etag = "", "content-length": length, vary } = page.headers
        assert.match(etag, /^"[\w-]+"$/)
        assert.strictEqual(vary, "Accept-Encoding")
        const head = yield* rawCall(port, { method: "HEAD", path })
        assert.deepStrictEqual([head.status, head.text, head.headers["content-length"]], [200, "", length], path)
        const known = yield* rawCall(port, { path, headers: { "if-none-match": etag } })
        assert.deepStrictEqual([known.status, known.text, known.headers.etag], [304, "", etag], path)
        const packed = yield* rawCall(port, { path, headers: { "accept-encoding": "gzip" } })
        assert.strictEqual(packed.headers["content-encoding"], "gzip")
        yield* Effect.promise(() =>
          eventually("it is logged", () => log().includes(`"path":"${path}","status":200,"outcome":"document"`)),
        )
      }
    }),
  )

  live(
    "is the only path there: other names and methods are 404, and the folder leads to /docs",
    Effect.gen(function* () {
      const { port } = yield* running()
      const others = [
        "/docs/404",
        "/docs/nothing",
        "/docs/wire/",
        "/docs/wire.html",
        "/docs/wire.md",
        "/docs/..%2fwire",
      ]
      for (const path of others) {
        const { body, status } = yield* rawCall(port, { path })
        assert.deepStrictEqual([status, body.code], [404, "not_found"], path)
      }
      for (const [path, location] of [
        ["/docs/", "../docs"],
        ["/docs/?a=1", "../docs?a=1"],
      ]) {
        const { headers, status } = yield* rawCall(port, { path })
        assert.deepStrictEqual([status, headers.location], [308, location])
      }
      for (const path of ["/docs", "/docs/wire"]) {
        const { body, status } = yield* rawCall(port, { method: "POST", path })
        assert.deepStrictEqual([status, body.code], [404, "not_found"], path)
      }
    }),
  )

  live(
    "is served where a host has mounted the gate",
    Effect.gen(function* () {
      const { port } = yield* running("public", BUILT, { basePath: "/voice" })
      assert.strictEqual((yield* rawCall(port, { path: "/voice/docs/wire" })).status, 200)
    }),
  )

  for (const [docs, publicly, privately] of [
    ["public", 200, 404],
    ["private", 404, 200],
    ["off", 404, 404],
  ] as const) {
    live(
      `answers ${publicly} publicly and ${privately} on the private port, as /docs does, where Server.Docs is ${docs}`,
      Effect.gen(function* () {
        const { port, privatePort } = yield* running(docs)
        for (const path of ["/docs/api", ...PATHS]) {
          assert.strictEqual((yield* rawCall(port, { path })).status, publicly, path)
          assert.strictEqual((yield* rawCall(privatePort, { path })).status, privately, path)
        }
      }),
    )
  }

  live(
    "is absent without a build, which still serves the API reference",
    Effect.gen(function* () {
      const { port } = yield* running("public", [new URL("file:///nowhere/")])
      assert.strictEqual((yield* rawCall(port, { path: "/docs/wire" })).status, 404)
      for (const path of ["/docs", "/docs/api"])
        assert.include((yield* rawCall(port, { path })).text, "<title>voicegate · API reference</title>")
    }),
  )
})
