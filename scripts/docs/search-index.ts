/** What the search of the pages searches: a text for each section of each document. */
import type { Searched } from "../../src/web/docs/find.ts"
import { DOCUMENTS, readDocument, titleOf } from "./documents.ts"
import { render } from "./markdown.ts"

/** The text of HTML that `render` made. */
const textOf = (html: string): string =>
  html
    .replaceAll(/<\/?(?:a|code|em|strong|span)\b[^>]*>/g, "")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")
    .replaceAll(/\s+/g, " ")
    .trim()

export const searchIndex = (): ReadonlyArray<Searched> =>
  DOCUMENTS.flatMap((name) => {
    const markdown = readDocument(name)
    const title = titleOf(markdown)
    return render(markdown)
      .html.split(/(?=<h[1-4] id=")/)
      .flatMap((part) => {
        const [, depth, slug = "", heading = "", rest = ""] =
          /^<h([1-4]) id="([^"]+)">([\s\S]*?)<\/h\1>([\s\S]*)$/.exec(part) ?? []
        if (depth === undefined) return []
        return [{ href: depth === "1" ? name : `${name}#${slug}`, title, heading: textOf(heading), text: textOf(rest) }]
      })
  })
