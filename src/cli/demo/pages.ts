/** The demo's pages: the built files, with what the demo tells its page as attributes of `<body>`. */
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer, Struct } from "effect"
import { HttpRouter, HttpServerResponse, HttpStaticServer } from "effect/http"
import { packageFile } from "../../serving/package-files.ts"

/** The pages may load only their own files, and open WebSockets to the gate and the platform. */
const PAGE_HEADERS = {
  "content-security-policy":
    "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "permissions-policy": "microphone=(self)",
}

/** For what a page of another origin may read. */
export const ANY_ORIGIN = { "access-control-allow-origin": "*" }

/** One with the widget, and one in plain JavaScript with the headless client. */
const PAGES = { "/": "index.html", "/headless.html": "headless.html" } as const

/** Changes the text of a page before it is sent. */
export type Alter = (html: string) => string

/** Puts attributes into `<body>`, for the page's script and style. */
export const telling =
  (attributes: string): Alter =>
  (html) =>
    html.replace("<body", `<body ${attributes}`)

/** Tells the page that pages of these origins may call, so that it does not say how to allow one. */
export const allowing = (origins: ReadonlyArray<string>): Alter =>
  origins.length === 0 ? (html) => html : telling(`data-allowed="${origins.join(" and ")}"`)

/** The pages with their files. @param directory where the build has put them */
export const pages = (
  alter: Alter = (html) => html,
  directory: URL = packageFile("web/demo"),
): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.use((router) =>
    Effect.gen(function* () {
      const files = yield* HttpStaticServer.make({ root: fileURLToPath(directory) })
      const answer = files.pipe(
        Effect.catch(() => Effect.succeed(HttpServerResponse.empty({ status: 404 }))),
        Effect.map(HttpServerResponse.setHeaders(PAGE_HEADERS)),
      )
      const paths = ["/headless.js", "/headless.css", "/assets/*"] as const
      for (const path of paths) yield* router.add("GET", path, answer)
      yield* router.add("GET", "/demo-agent.js", Effect.map(answer, HttpServerResponse.setHeaders(ANY_ORIGIN)))
      for (const path of Struct.keys(PAGES)) {
        const page = Effect.tryPromise(() => readFile(new URL(PAGES[path], `${directory.href}/`), "utf8")).pipe(
          Effect.map((html) => HttpServerResponse.html(alter(html))),
          Effect.orElseSucceed(() => HttpServerResponse.empty({ status: 404 })),
          Effect.map(HttpServerResponse.setHeaders(PAGE_HEADERS)),
        )
        yield* router.add("GET", path, page)
      }
    }),
  ).pipe(Layer.orDie, Layer.provide(NodeHttpServer.layerHttpServices))
