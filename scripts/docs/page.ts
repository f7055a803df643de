/** The HTML pages of the documents. Their links are relative, so that they work wherever a host mounts the gate. */
import { DOCUMENTS, type DocumentName, GROUPS, readDocument, titleOf } from "./documents.ts"
import { escaped, render } from "./markdown.ts"

/** The way to `/docs/` in the page for an unknown address, which the gate fills in (`doc-pages.ts`). */
const UNKNOWN_BASE = "DOCS/"

/** What a page consists of besides its frame: `contents` are the items of the list "On this page". */
interface Parts {
  readonly title: string
  readonly contents: ReadonlyArray<string>
  readonly main: string
  readonly following?: string
  readonly current?: DocumentName
}

/** A page shows both lists of links beside the text where there is room, and above it when the reader opens them (`page.css`). */
export const renderPage = (name: DocumentName, read: (name: DocumentName) => string = readDocument): string => {
  const markdown = read(name)
  const { html, sections } = render(markdown)
  const next = DOCUMENTS[DOCUMENTS.indexOf(name) + 1]
  const following =
    next === undefined
      ? ""
      : `<nav class="next" aria-label="Next document">Next: <a href="${next}">${escaped(titleOf(read(next)))}</a></nav>\n`
  const contents = sections.map(
    ({ depth, html, slug }) => `<li class="level-${depth}"><a href="#${slug}">${html}</a></li>`,
  )
  return framed({ title: titleOf(markdown), contents, main: html, following, current: name }, "", read)
}

/** The page for an address below `/docs/` that no document has. */
export const renderUnknownPage = (): string =>
  framed(
    {
      title: "No such document",
      contents: [],
      main: `<h1>No such document</h1>\n<p>No document has this address. Search for it, choose one from the list, or begin with the <a href="${UNKNOWN_BASE}start">quick start</a>.\n`,
    },
    UNKNOWN_BASE,
    readDocument,
  )

/** @param base the way from the page's address to `/docs/` */
const framed = (
  { contents, current, following = "", main, title }: Parts,
  base: string,
  read: (name: DocumentName) => string,
): string => {
  const linkOf = (each: DocumentName): string => {
    const marked = each === current ? ' aria-current="page"' : ""
    return `<li><a href="${base}${each}"${marked}>${escaped(titleOf(read(each)))}</a></li>`
  }
  const groups = GROUPS.map(({ label, names }, index) => {
    const links = names.map(linkOf)
    if (index === GROUPS.length - 1) links.push(`<li><a href="${base}api">API reference</a></li>`)
    return `<li><span id="group-${index + 1}">${label}</span><ul aria-labelledby="group-${index + 1}">\n${links.join("\n")}\n</ul></li>`
  })
  const onThisPage =
    contents.length === 0
      ? ""
      : `<nav class="contents" aria-label="On this page"><details><summary>On this page</summary><ul>
${contents.join("\n")}
</ul></details></nav>
`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)} · voicegate</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}style.css">
<script type="module" src="${base}page.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header>
<a class="wordmark" href="${base}start">voicegate</a>
<search></search>
</header>
<div class="page">
<nav class="documents" aria-label="Documents"><details><summary>All documents</summary><ul>
${groups.join("\n")}
</ul></details></nav>
${onThisPage}<main id="content">
${main}</main>
${following}</div>
</body>
</html>
`
}
