/** The HTML page of a document. Its links are relative, so that they work wherever a host mounts the gate. */
import { type DocumentName, GROUPS, readDocument, titleOf } from "./documents.ts"
import { escaped, render } from "./markdown.ts"

/** @param base the way from the page's address to `/docs/` */
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
<nav aria-label="Documents"><ul>
${groups.join("\n")}
</ul></nav>
</header>
<div class="page">
<nav class="contents" aria-label="On this page"><p>On this page</p><ul>
${contents.join("\n")}
</ul></nav>
<main id="content">
${linked}</main>
</div>
</body>
</html>
`
}
