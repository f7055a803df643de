/**
 * A page with the widget alone, for the preview in the platform's dashboard: `/widget/preview?theme=dark`. It has the gate's origin,
 * so it and the page that frames it cannot access each other. Only the gate's own pages and those of `Security.AllowedOrigins` may
 * frame it: the same pages that may embed the widget.
 */
import { type Document, makeDocument } from "../../serving/documents.ts"

const PATHS = { page: "/widget/preview", script: "/widget/preview.js" }

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

/**
 * The attributes of the widget that the query may set. Not those that load a script, replace the widget's texts or ask for consent: a link
 * could then show any text under the gate's address.
 */
const ATTRIBUTES = [
  ...["campaign", "region", "mode", "corner", "theme", "lang", "dir", "languages", "audio"],
  ...["push-to-talk", "captions", "text-input", "check", "ring", "notify", "auto-start"],
  ...["rating", "handoff", "picture-in-picture"],
]

/** Tells the outermost page that the widget is shown. That page checks who sent the message; the message reveals nothing. */
const SCRIPT = `import "../widget.js"
const widget = document.createElement("voice-agent")
widget.setAttribute("gate", new URL("..", location.href).href)
const query = new URLSearchParams(location.search)
for (const name of ${JSON.stringify(ATTRIBUTES)}) if (query.has(name)) widget.setAttribute(name, query.get(name))
document.body.append(widget)
if (top !== window) top.postMessage("voicegate-preview", "*")
`

const headersOf = (type: string): Record<string, string> => ({
  "content-type": `${type}; charset=utf-8`,
  "cache-control": "no-cache",
  "x-content-type-options": "nosniff",
})

/** A host source of a policy; other characters would add to the policy. */
const SOURCE = /^(\*|https?:\/\/[^\s;,'"]+)$/

const policyOf = (allowedOrigins: ReadonlyArray<string>): string =>
  [
    "default-src 'self'",
    "connect-src 'self' ws: wss:",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${["'self'", ...allowedOrigins.filter((origin) => SOURCE.test(origin))].join(" ")}`,
  ].join("; ")

/** The documents by path. @param allowedOrigins `Security.AllowedOrigins` */
export const previewDocuments = async (allowedOrigins: ReadonlyArray<string>): Promise<ReadonlyMap<string, Document>> =>
  new Map([
    [
      PATHS.page,
      await makeDocument(Buffer.from(PAGE), {
        ...headersOf("text/html"),
        "content-security-policy": policyOf(allowedOrigins),
        "permissions-policy": "microphone=(self)",
        "referrer-policy": "no-referrer",
      }),
    ],
    [PATHS.script, await makeDocument(Buffer.from(SCRIPT), headersOf("text/javascript"))],
  ])
