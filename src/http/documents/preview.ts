/**
 * A page with the widget alone, for the preview in the platform's dashboard: `/widget/preview`, whose script is
 * `web/widget/preview/preview.ts`. It has the gate's origin,
 * so it and the page that frames it cannot access each other. Only the gate's own pages and those of `Security.AllowedOrigins` may
 * frame it: the same pages that may embed the widget.
 */
import { type Document, makeDocument } from "../../serving/documents.ts"

const PATH = "/widget/preview"

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Widget preview</title>
    <script type="module" src="preview.js"></script>
  </head>
  <body></body>
</html>
`

/** A host source of a policy; other characters would add to the policy. */
const SOURCE = /^(\*|https?:\/\/[^\s;,'"]+)$/

const policyOf = (allowedOrigins: ReadonlyArray<string>): string =>
  [
    "default-src 'self'",
    "connect-src 'self' ws: wss:",
    // the agent's picture, which only a page that frames this one can set
    "img-src 'self' data: http: https:",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${["'self'", ...allowedOrigins.filter((origin) => SOURCE.test(origin))].join(" ")}`,
  ].join("; ")

/** The documents by path. @param allowedOrigins `Security.AllowedOrigins` */
export const previewDocuments = async (allowedOrigins: ReadonlyArray<string>): Promise<ReadonlyMap<string, Document>> =>
  new Map([
    [
      PATH,
      await makeDocument(Buffer.from(PAGE), {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-cache",
        "x-content-type-options": "nosniff",
        "content-security-policy": policyOf(allowedOrigins),
        "permissions-policy": "microphone=(self)",
        "referrer-policy": "no-referrer",
      }),
    ],
  ])
