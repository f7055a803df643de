/**
 * The search over the documents: by words and their beginnings, with small spelling mistakes, headings before text. Of three words or more, one
 * may be missing in what is found, after all that has every word.
 */
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

/** What a question has and no section is found by, unless there are no other words. */
const LITTLE_WORDS = new Set(
  "a an and are at be but by can do does for from has have how i if in is it me my no not of on or our so that the there this to was we what when where which why will with you your".split(
    " ",
  ),
)

/** The words of a query, as they are typed. */
const wordsIn = (query: string): ReadonlyArray<string> => {
  const words = query.split(/\s+/).filter((word) => word !== "")
  const telling = words.filter((word) => !LITTLE_WORDS.has(word.toLowerCase()))
  return telling.length === 0 ? words : telling
}

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
  const withAll = (words: ReadonlyArray<string>) => index.search(words.join(" "))
  const withAllButOne = (words: ReadonlyArray<string>) =>
    words.length < 3
      ? []
      : index.search({
          combineWith: "OR",
          queries: words.map((_, left) => ({ queries: words.toSpliced(left, 1), combineWith: "AND" })),
        })
  const search = (query: string) => {
    const words = wordsIn(query)
    const best = withAll(words)
    if (best.length >= MOST_RESULTS) return best
    const known = new Set<number>(best.map(({ id }) => id))
    return [...best, ...withAllButOne(words).filter(({ id }) => !known.has(id))]
  }
  return (query) =>
    search(query)
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
