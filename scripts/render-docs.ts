/**
 * Renders the documents of `src/docs` as the pages that the gate serves below `/docs`, with their stylesheet:
 *
 *     node scripts/render-docs.ts DIRECTORY
 *
 * A link between documents (`wire.md#errors`) becomes a link between pages. Any other relative link is an error, because the gate does
 * not serve other files.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Marked, type Tokens } from "marked"

const source = join(import.meta.dirname, "../src/docs")
const tokens = join(import.meta.dirname, "../src/web/shared/styles/tokens.css")

/** The documents in the order in which pages list them. */
export const DOCUMENTS = [
  "configuration",
  "wire",
  "embedding",
  "control",
  "operating",
  "promises",
  "platform",
  "vendors",
] as const
export type DocumentName = (typeof DOCUMENTS)[number]

export const readDocument = (name: DocumentName): string => readFileSync(join(source, `${name}.md`), "utf8")

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

/** Makes heading ids like GitHub's, so that links to headings work on both sites. */
export const makeSlugs = (): ((heading: string) => string) => {
  const seen = new Map<string, number>()
  return (heading) => {
    const slug = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replace(/\s/g, "-")
    const repeats = seen.get(slug) ?? 0
    seen.set(slug, repeats + 1)
    return repeats === 0 ? slug : `${slug}-${repeats}`
  }
}

const titleOf = (markdown: string): string => {
  const title = /^# (.+)$/m.exec(markdown)?.[1]
  if (title === undefined) throw new Error("A document has no title.")
  return title
}

/** The target of a document's link on its page. */
const hrefOnPage = (href: string): string => {
  if (/^(#|https:)/.test(href)) return href
  const [, name = "", anchor = ""] = /^([a-z]+)\.md(#.*)?$/.exec(href) ?? []
  if (!DOCUMENTS.some((each) => each === name)) throw new Error(`The gate serves nothing at this link: ${href}`)
  return name + anchor
}

interface Section {
  readonly depth: number
  readonly slug: string
  readonly html: string
}

const render = (markdown: string): { readonly html: string; readonly sections: ReadonlyArray<Section> } => {
  const slugOf = makeSlugs()
  const sections: Array<Section> = []
  let section = ""
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ depth, tokens }) {
        const html = this.parser.parseInline(tokens)
        section = this.parser.parseInline(tokens, this.parser.textRenderer)
        const slug = slugOf(section)
        if (depth === 1) return `<h1 id="${slug}">${html}</h1>\n`
        sections.push({ depth, slug, html })
        return `<h${depth} id="${slug}"><a href="#${slug}">${html}</a></h${depth}>\n`
      },
      link({ href, tokens }) {
        return `<a href="${escaped(hrefOnPage(href))}">${this.parser.parseInline(tokens)}</a>`
      },
      codespan({ text }) {
        // short code does not wrap: browsers would break --help after its hyphens
        return `<code${text.length <= 24 ? ' class="short"' : ""}>${escaped(text)}</code>`
      },
      code({ text }) {
        return `<pre tabindex="0"><code>${escaped(text)}</code></pre>\n`
      },
      table({ header, rows }) {
        const html = ({ tokens }: Tokens.TableCell) => this.parser.parseInline(tokens)
        const labels = header.map(({ tokens }) => this.parser.parseInline(tokens, this.parser.textRenderer))
        const isNumber = ({ align }: Tokens.TableCell) => align === "right"
        const head = header.map((cell) => `<th${isNumber(cell) ? ' class="number"' : ""}>${html(cell)}</th>`)
        const body = rows.map((cells) => {
          const written = cells.map((cell, column) => {
            // a narrow page has no columns and shows the label before the cell
            const label = column === 0 ? "" : ` data-label="${escaped(labels[column] ?? "")}"`
            return `<td${isNumber(cell) ? ' class="number"' : ""}${label}>${html(cell)}</td>`
          })
          return `<tr>${written.join("")}</tr>`
        })
        const kind = header.some(isNumber) ? "figures" : "words"
        return `<div class="table" role="region" aria-label="Table: ${escaped(section)}" tabindex="0"><table class="${kind}">
<thead><tr>${head.join("")}</tr></thead>
<tbody>
${body.join("\n")}
</tbody></table></div>\n`
      },
    },
  })
  return { html: marked.parse(markdown, { async: false }), sections }
}

/** The page of a document. Its links are relative, so that they work wherever a host mounts the gate. */
export const renderPage = (name: DocumentName, read: (name: DocumentName) => string = readDocument): string => {
  const markdown = read(name)
  const { html, sections } = render(markdown)
  const pages = DOCUMENTS.map((each) => {
    const current = each === name ? ' aria-current="page"' : ""
    return `<li><a href="${each}"${current}>${escaped(titleOf(read(each)))}</a></li>`
  })
  const contents = sections.map(
    ({ depth, html, slug }) => `<li class="level-${depth}"><a href="#${slug}">${html}</a></li>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(titleOf(markdown))} · voicegate</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="style.css">
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header>
<p class="wordmark">voicegate</p>
<nav aria-label="Documents"><ul>
${pages.join("\n")}
<li><a href="../docs">API reference</a></li>
</ul></nav>
</header>
<div class="page">
<nav class="contents" aria-label="On this page"><p>On this page</p><ul>
${contents.join("\n")}
</ul></nav>
<main id="content">
${html}</main>
</div>
</body>
</html>
`
}

/** The pages' stylesheet, with the design tokens of all pages of the gate. */
export const renderStyle = (): string =>
  [tokens, join(source, "text.css"), join(source, "page.css")].map((file) => readFileSync(file, "utf8")).join("\n")

/** Writes all pages and their stylesheet into a directory. */
export const writePages = (directory: string): void => {
  const present = readdirSync(source).filter((file) => file.endsWith(".md"))
  const unlisted = present.find((file) => !DOCUMENTS.some((name) => file === `${name}.md`))
  if (unlisted !== undefined) throw new Error(`${unlisted} is missing in DOCUMENTS.`)
  mkdirSync(directory, { recursive: true })
  for (const name of DOCUMENTS) writeFileSync(join(directory, `${name}.html`), renderPage(name))
  writeFileSync(join(directory, "style.css"), renderStyle())
}

if (process.argv[1] === import.meta.filename) {
  const [, , directory] = process.argv
  if (directory === undefined) {
    console.error("usage: node scripts/render-docs.ts DIRECTORY")
    process.exit(2)
  }
  writePages(directory)
}
