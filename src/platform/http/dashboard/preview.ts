/**
 * The frame in which the dashboard previews a gate's widget: `/preview?url=https://gate.example/widget/preview`. A page of its own,
 * without scripts, so that the dashboard's policy names no other origin, and this one exactly the gate's. It is given only to a
 * frame of the dashboard, so that no link shows another site's page under the platform's address.
 */
import { createHash } from "node:crypto"
import { Effect, type Layer } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"

const STYLE = "html,body,iframe{box-sizing:border-box;width:100%;height:100%;margin:0;border:0;display:block}"
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64")

/**
 * A host that a policy can name. A URL's host may contain characters with a meaning in a policy: `;` begins another directive, `*` is any
 * host.
 */
const HOST = /^[a-z\d._[\]:-]+$/

/** The gate's page; undefined unless it is the preview of another origin. */
const targetOf = (given: string | undefined, host: string | undefined): URL | undefined => {
  const url = URL.parse(given ?? "")
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") return undefined
  if (!url.pathname.endsWith("/widget/preview") || !HOST.test(url.host)) return undefined
  return url.host === host?.toLowerCase() ? undefined : url
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const pageOf = (url: URL): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Widget preview</title>
<style>${STYLE}</style>
<iframe title="Widget" src="${escaped(url.href)}" sandbox="allow-scripts allow-same-origin allow-forms" allow="microphone; autoplay" referrerpolicy="no-referrer"></iframe>
</html>
`

const notFound = HttpServerResponse.empty({ status: 404 })

export const preview: Layer.Layer<never, never, HttpRouter.HttpRouter> = HttpRouter.add(
  "GET",
  "/preview",
  Effect.gen(function* () {
    const { headers, originalUrl } = yield* HttpServerRequest.HttpServerRequest
    // sent by browsers for https and this machine (Fetch Metadata)
    const isOwnFrame = headers["sec-fetch-dest"] === "iframe" && headers["sec-fetch-site"] === "same-origin"
    const query = new URLSearchParams(originalUrl.split("?")[1] ?? "")
    const url = isOwnFrame ? targetOf(query.get("url") ?? undefined, headers.host) : undefined
    if (url === undefined) return notFound
    return HttpServerResponse.text(pageOf(url), {
      contentType: "text/html; charset=utf-8",
      headers: {
        "content-security-policy": `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; frame-src ${url.origin}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`,
        "permissions-policy": "camera=(), geolocation=()",
        "referrer-policy": "no-referrer",
        "x-frame-options": "SAMEORIGIN",
      },
    })
  }),
)
