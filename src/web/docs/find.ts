/** The search over the documents: by words and their beginnings, with small spelling mistakes, headings before text. */
import MiniSearch from "minisearch"

/** A section of a document. */
export interface Searched {
  /** the address of the page and the section, such as `wire#errors` */
  readonly href: string
  /** of the document */
  readonly title: string
  readonly heading: string
  readonly text: string
}

export interface Found {
  readonly href: string
  readonly title: string
  readonly heading: string
  /** what stands around the first word that was found; words that were found are `true` */
  readonly excerpt: ReadonlyArray<readonly [text: string, found: boolean]>
}

const MOST_RESULTS = 8
/** Letters before and after the first word of an excerpt. */
const BEFORE = 40
const AFTER = 110

/** Names of settings and codes are found as a whole and by their parts: `Security.AllowedOrigins`, `queue_full`, `AllowedOrigins`. */
const wordsOf = (text: string): Array<string> =>
  text.split(/[^\p{L}\p{N}._-]+/u).flatMap((word) => {
    const whole = word.replace(/^[._-]+|[._-]+$/g, "")
    const parts = whole.split(/[._-]|(?<=\p{Ll})(?=\p{Lu})/u)
    return [whole, ...(parts.length > 1 ? parts : [])].filter((each) => each !== "")
  })

const excerptOf = (text: string, terms: ReadonlyArray<string>): Found["excerpt"] => {
  if (terms.length === 0) return [[text.slice(0, AFTER), false]]
  // longer words first: an alternative that another begins with would hide it
  const quoted = terms
    .toSorted((a, b) => b.length - a.length)
    .map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
  const pattern = new RegExp(`(${quoted.join("|")})`, "giu")
  const at = Math.max(0, text.search(pattern))
  const from = at <= BEFORE ? 0 : text.indexOf(" ", at - BEFORE) + 1
  const part = text.slice(from, at + AFTER)
  const pieces = part.split(pattern).map((piece, index) => [piece, index % 2 === 1] as const)
  return [
    ...(from > 0 ? [["… ", false] as const] : []),
    ...pieces.filter(([piece]) => piece !== ""),
    ...(at + AFTER < text.length ? [[" …", false] as const] : []),
  ]
}

/** A search over these sections; the best first. An empty query finds nothing. */
export const makeFind = (sections: ReadonlyArray<Searched>): ((query: string) => ReadonlyArray<Found>) => {
  const index = new MiniSearch<Searched & { readonly id: number }>({
    fields: ["heading", "title", "text"],
    tokenize: wordsOf,
    searchOptions: {
      // what the reader types is not taken apart, except at spaces
      tokenize: (query) => query.split(/\s+/),
      boost: { heading: 4, title: 2 },
      combineWith: "AND",
      prefix: (term) => term.length > 1,
      fuzzy: (term) => (term.length > 4 ? 0.2 : false),
      weights: { fuzzy: 0.2, prefix: 0.6 },
    },
  })
  index.addAll(sections.map((section, id) => ({ ...section, id })))
  return (query) =>
    index
      .search(query)
      .slice(0, MOST_RESULTS)
      .flatMap(({ id, terms }) => {
        const section = sections[id]
        if (section === undefined) return []
        return [
          {
            href: section.href,
            title: section.title,
            heading: section.heading,
            excerpt: excerptOf(section.text, terms),
          },
        ]
      })
}
