/** The HTML page of a document. Its links are relative, so that they work wherever a host mounts the gate. */
import { DOCUMENTS, type DocumentName, GROUPS, readDocument, titleOf } from "./documents.ts"
import { escaped, render } from "./markdown.ts"

/**
 * A page shows both lists of links beside the text where there is room, and above it when the reader opens them (`page.css`).
 * @param base the way from the page's address to `/docs/`
 */
export const renderPage = (
  name: DocumentName,
  read: (name: DocumentName) => string = readDocument,
  base: "" | "docs/" = "",
): string => {
  const markdown = read(name)
  const { html, sections } = render(markdown)
  const linkOf = (each: DocumentName): string => {
    const current = each === name ? ' aria-current="page"' : ""
    return `<li><a href="${base}${each}"${current}>${escaped(titleOf(read(each)))}</a></li>`
  }
  const groups = GROUPS.map(({ label, names }, index) => {
    const links = names.map(linkOf)
    if (index === GROUPS.length - 1) links.push(`<li><a href="${base}api">API reference</a></li>`)
    return `<li><span id="group-${index + 1}">${label}</span><ul aria-labelledby="group-${index + 1}">\n${links.join("\n")}\n</ul></li>`
  })
  const next = DOCUMENTS[DOCUMENTS.indexOf(name) + 1]
  const following =
    next === undefined
      ? ""
      : `<nav class="next" aria-label="Next document">Next: <a href="${base}${next}">${escaped(titleOf(read(next)))}</a></nav>\n`
  const contents = sections.map(
    ({ depth, html, slug }) => `<li class="level-${depth}"><a href="#${slug}">${html}</a></li>`,
  )
  const linked = base === "" ? html : html.replaceAll(/<(a href|img src)="(?!https:|#)/g, `<$1="${base}`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(titleOf(markdown))} · voicegate</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}style.css">
<script type="module" src="${base}page.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header>
<p class="wordmark">voicegate</p>
<search></search>
</header>
<div class="page">
<nav class="documents" aria-label="Documents"><details><summary>All documents</summary><ul>
${groups.join("\n")}
</ul></details></nav>
<nav class="contents" aria-label="On this page"><details><summary>On this page</summary><ul>
${contents.join("\n")}
</ul></details></nav>
<main id="content">
${linked}</main>
${following}</div>
</body>
</html>
`
}
