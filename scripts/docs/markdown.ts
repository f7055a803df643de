/**
 * Renders the Markdown of a document as HTML.
 *
 * Code blocks in succession, each below a line that says what it is for (`**React**`), become tabs; GitHub shows them one below the other. A link
 * between documents (`wire.md#errors`) becomes a link between pages. A drawing (`pictures/waiting.svg`) becomes part of its page, and so does the
 * name of a picture (`<picture>`, which GitHub shows light or dark). Any other relative link is an error, because the gate does not serve other
 * files, and so is any other HTML.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { Marked, type Token, type Tokens } from "marked"
import { DOCUMENTS, folder, pagePicture, readDrawing, sizeOf } from "./documents.ts"

/** What is used of highlight.js. Its own types would declare the browser's globals for every script and test. */
interface Highlighter {
  readonly getLanguage: (name: string) => object | undefined
  readonly highlight: (code: string, options: { readonly language: string }) => { readonly value: string }
}
const highlighter: Highlighter = createRequire(import.meta.url)("highlight.js/lib/common")

export const escaped = (text: string): string =>
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

/** The target of a document's link on its page. */
const hrefOnPage = (href: string): string => {
  if (/^(#|https:)/.test(href)) return href
  const [, name = "", anchor = ""] = /^([a-z-]+)\.md(#.*)?$/.exec(href) ?? []
  if (!DOCUMENTS.some((each) => each === name)) throw new Error(`The gate serves nothing at this link: ${href}`)
  return name + anchor
}

/** The kinds of token that the style gives a colour. */
const COLOURED = new Set(
  [...readFileSync(join(folder, "code.css"), "utf8").matchAll(/\.code \.([a-z_-]+)/g)].map(([, kind]) => kind),
)

/** Coloured code in fewer bytes, since pages are in the package: `<i class="attr">` for `<span class="hljs-attr">`, and nothing for what has no colour. */
const shorter = (html: string): string => {
  const kept: Array<boolean> = []
  return html.replaceAll(/<span class="hljs-([a-z_-]+)[^"]*">|<\/span>/g, (_, kind?: string) => {
    if (kind === undefined) return kept.pop() === true ? "</i>" : ""
    kept.push(COLOURED.has(kind))
    return COLOURED.has(kind) ? `<i class="${kind}">` : ""
  })
}

/** Quotes need no entities in text, and paragraphs, items, rows and cells no end tags: the package has fewer bytes. */
const withoutNeedless = (html: string): string =>
  html
    .replaceAll(/<\/(?:p|li)>/g, "")
    .replaceAll(/>[^<]+/g, (text) => text.replaceAll("&quot;", '"').replaceAll("&#39;", "'"))

const codeOf = ({ lang: language = "", text }: Tokens.Code): string => {
  if (language !== "" && highlighter.getLanguage(language) === undefined)
    throw new Error(`scripts/docs/markdown.ts does not colour this language: ${language}`)
  const html = language === "" ? escaped(text) : shorter(highlighter.highlight(text, { language }).value)
  return `<div class="code"><pre tabindex="0"><code>${html}</code></pre></div>\n`
}

interface Labelled {
  readonly label: string
  readonly code: Tokens.Code
}

/** Code blocks of which the reader chooses one. */
interface Tabs {
  readonly type: "tabs"
  readonly raw: string
  readonly blocks: ReadonlyArray<Labelled>
}

const isCode = (token: Token | undefined): token is Tokens.Code => token?.type === "code"

/** What a line says that is a label alone: `**React**`. */
const labelIn = (token: Token | undefined): string | undefined =>
  token?.type === "paragraph" ? /^\*\*([^*]+)\*\*$/.exec(token.raw.trim())?.[1] : undefined

/** Puts labels and their code blocks together where they follow each other. */
const groupTabs = (tokens: ReadonlyArray<Token>): Array<Token> => {
  const written = tokens.filter(({ type }) => type !== "space")
  const grouped: Array<Token> = []
  let blocks: Array<Labelled> = []
  const close = (): void => {
    if (blocks.length > 0) grouped.push({ type: "tabs", raw: "", blocks })
    blocks = []
  }
  for (let at = 0; at < written.length; at++) {
    const token = written[at]
    const next = written[at + 1]
    const label = labelIn(token)
    if (label !== undefined && isCode(next)) {
      blocks.push({ label, code: next })
      at++
    } else if (token !== undefined) {
      close()
      grouped.push(token)
    }
  }
  close()
  return grouped
}

/** The picture of an HTML block that is one `<picture>`: its name and its text. */
const PICTURE =
  /^<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="pictures\/([a-z-]+)-dark\.webp">\s*<img src="pictures\/\1-light\.webp" alt="([^"]+)">\s*<\/picture>$/

export interface Section {
  readonly depth: number
  readonly slug: string
  readonly html: string
}

export const render = (markdown: string): { readonly html: string; readonly sections: ReadonlyArray<Section> } => {
  const slugOf = makeSlugs()
  const sections: Array<Section> = []
  let section = ""
  let groups = 0
  const tables = new Map<string, number>()
  const tabs = ({ blocks }: Tabs): string => {
    groups += 1
    const choices = blocks.map(({ label }, index) => {
      const id = `tab-${groups}-${index + 1}`
      const checked = index === 0 ? " checked" : ""
      return `<input type="radio" name="tabs-${groups}" id="${id}"${checked}><label for="${id}">${escaped(label)}</label>`
    })
    return `<fieldset class="tabs"><legend>${escaped(section)}, for</legend>${choices.join("")}${blocks.map(({ code }) => codeOf(code)).join("")}</fieldset>\n`
  }
  const marked = new Marked({
    gfm: true,
    hooks: { processAllTokens: groupTabs },
    extensions: [{ name: "tabs", renderer: (token) => tabs(token as Tokens.Generic & Tabs) }],
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
        return `<code${text.length <= 24 ? "" : ' class="long"'}>${escaped(text)}</code>`
      },
      image({ href, text }) {
        return `<span class="drawing" role="img" aria-label="${escaped(text)}">${readDrawing(href)}</span>`
      },
      html({ raw }) {
        const [, name, text] = PICTURE.exec(raw.trim()) ?? []
        if (name === undefined || text === undefined) throw new Error(`A document has no HTML but pictures: ${raw}`)
        const file = pagePicture(name)
        const { height, width } = sizeOf(file)
        return `<p class="picture"><img src="${file}" alt="${text}" width="${width}" height="${height}" loading="lazy"></p>\n`
      },
      code: codeOf,
      table({ header, rows }) {
        const html = ({ tokens }: Tokens.TableCell) => this.parser.parseInline(tokens)
        const labels = header.map(({ tokens }) => this.parser.parseInline(tokens, this.parser.textRenderer))
        const isNumber = ({ align }: Tokens.TableCell) => align === "right"
        const head = header.map((cell) => `<th${isNumber(cell) ? ' class="number"' : ""}>${html(cell)}`)
        const body = rows.map((cells) => {
          const written = cells.map((cell, column) => {
            // a narrow page has no columns and shows the label before the cell, where there is more than one that it could be
            const label = column === 0 || cells.length < 3 ? "" : ` data-label="${escaped(labels[column] ?? "")}"`
            return `<td${isNumber(cell) ? ' class="number"' : ""}${label}>${html(cell)}`
          })
          return `<tr>${written.join("")}`
        })
        const kind = header.some(isNumber) ? "figures" : "words"
        const nth = (tables.get(section) ?? 0) + 1
        tables.set(section, nth)
        const name = `Table${nth === 1 ? "" : ` ${nth}`}: ${section}`
        return `<div class="table" role="region" aria-label="${escaped(name)}" tabindex="0"><table class="${kind}">
<thead><tr>${head.join("")}</thead>
<tbody>
${body.join("\n")}
</tbody></table></div>\n`
      },
    },
  })
  return { html: withoutNeedless(marked.parse(markdown, { async: false })), sections }
}
