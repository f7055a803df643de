/** The sections of a document's page, from its HTML, as `scripts/docs/page.ts` renders it. */
import type { Searched } from "./find.ts"

const INLINE = /<\/?(?:a|code|em|strong|span)\b[^>]*>/g
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', "#39": "'", "#x27": "'", amp: "&" }

const textOf = (html: string): string =>
  html
    .replaceAll(INLINE, "")
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll(/&(lt|gt|quot|#39|#x27|amp);/g, (_, name: string) => ENTITIES[name] ?? "")
    .replaceAll(/\s+/g, " ")
    .trim()

/** @param address of the page */
export const sectionsOf = (address: string, html: string): ReadonlyArray<Searched> => {
  const [, main = ""] = /<main[^>]*>([\s\S]*)<\/main>/.exec(html) ?? []
  const title = textOf(/<h1[^>]*>([\s\S]*?)<\/h1>/.exec(main)?.[1] ?? "")
  return main.split(/(?=<h[1-4] id=")/).flatMap((part) => {
    const [, depth, slug = "", heading = "", rest = ""] =
      /^<h([1-4]) id="([^"]+)">([\s\S]*?)<\/h\1>([\s\S]*)$/.exec(part) ?? []
    if (depth === undefined) return []
    const href = depth === "1" ? address : `${address}#${slug}`
    const prose = textOf(rest.replaceAll(/<pre[^>]*>[\s\S]*?<\/pre>/g, " "))
    return [{ href, title, heading: textOf(heading), text: textOf(rest), prose }]
  })
}
