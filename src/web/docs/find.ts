/**
 * The search over the documents: by words, their beginnings and synonyms, with small spelling mistakes, headings before text. What has most of the
 * words comes first; what lacks one more follows it, if the query has three words or more, or if little else was found.
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
  /** the text without its blocks of code, of which an excerpt is made */
  readonly prose: string
}

export interface Found {
  readonly href: string
  readonly title: string
  readonly heading: string
  /** what stands around the first word that was found; words that were found are `true` */
  readonly excerpt: ReadonlyArray<readonly [text: string, found: boolean]>
}

const MOST_RESULTS = 8
/** Fewer than these are followed by what has one word less. */
const FEW_RESULTS = 3
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

/** What a query may say for a word of the documents. */
const SYNONYMS: Readonly<Record<string, string>> = {
  color: "accent",
  colors: "color accent",
  colour: "color accent",
  colours: "color accent",
  csp: "policy",
  denied: "refused",
  getting: "quick",
  iqra: "IqraAI",
  license: "licence",
  logo: "avatar",
  overrides: "dynamicVariables",
  permission: "microphone",
  started: "start",
  tutorial: "quick start",
  variables: "dynamicVariables",
}

/** The word and its synonyms. */
const meanings = (word: string): ReadonlyArray<string> => [word, ...(SYNONYMS[word.toLowerCase()]?.split(" ") ?? [])]

/** How much the sections of a page count: those for beginners more, those of one platform, of figures and for few readers less. */
const WEIGHTS: Readonly<Record<string, number>> = {
  start: 1.6,
  guides: 1.3,
  vendors: 1.3,
  troubleshooting: 1.3,
  embedding: 1.2,
  widget: 1.2,
  headless: 0.8,
  platform: 0.5,
  speed: 0.5,
  "wire#session-ended-webhook": 0.4,
}
/** Where words are explained, which counts more when a query asks what something is. */
const GLOSSARY = "start#words"
const ASKS_FOR_MEANING = /^(?:what(?:'s|’s| is| are| does)|meaning of|define)\b/i

const weightOf = (href: string, query: string): number => {
  const place = href.split("/").at(-1) ?? ""
  const asked = place === GLOSSARY && ASKS_FOR_MEANING.test(query) ? 40 : 1
  return asked * (WEIGHTS[place] ?? WEIGHTS[place.split("#")[0] ?? ""] ?? 1)
}

/** Names of settings and codes are found as a whole and by their parts: `Security.AllowedOrigins`, `queue_full`, `AllowedOrigins`. */
const wordsOf = (text: string): Array<string> =>
  text.split(/[^\p{L}\p{N}._-]+/u).flatMap((word) => {
    const whole = word.replace(/^[._-]+|[._-]+$/g, "")
    const parts = whole.split(/[._-]/)
    const smallest = parts.flatMap((part) => part.split(/(?<=\p{Ll})(?=\p{Lu})/u))
    return [...new Set([whole, ...parts, ...smallest])].filter((each) => each !== "")
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
  // whole words alone
  const end = at + AFTER >= text.length ? text.length : text.lastIndexOf(" ", at + AFTER)
  const part = text.slice(from, end > from ? end : at + AFTER)
  const pieces = part.split(pattern).map((piece, index) => [piece, index % 2 === 1] as const)
  return [
    ...(from > 0 ? [["… ", false] as const] : []),
    ...pieces.filter(([piece]) => piece !== ""),
    ...(from + part.length < text.length ? [[" …", false] as const] : []),
  ]
}

/** A section, how many words of the query it has, and how well they fit. */
interface Fit {
  words: number
  score: number
  readonly terms: Set<string>
}

/** A search over these sections; the best first. An empty query finds nothing. */
export const makeFind = (sections: ReadonlyArray<Searched>): ((query: string) => ReadonlyArray<Found>) => {
  const index = new MiniSearch<Searched & { readonly id: number }>({
    fields: ["heading", "title", "text"],
    tokenize: wordsOf,
    searchOptions: {
      // what the reader types is not taken apart
      tokenize: (word) => [word],
      boost: { heading: 4, title: 2 },
      combineWith: "OR",
      prefix: (term) => term.length > 1,
      // in a short word, another letter is another word
      fuzzy: (term) => (term.length > 5 ? 0.2 : false),
      weights: { fuzzy: 0.2, prefix: 0.6 },
    },
  })
  index.addAll(sections.map((section, id) => ({ ...section, id })))
  const search = (query: string): ReadonlyArray<readonly [section: Searched, fit: Fit]> => {
    const words = wordsIn(query)
    const fits = new Map<Searched, Fit>()
    for (const word of words)
      for (const { id, score, terms } of index.search({ queries: [...meanings(word)] })) {
        const section = sections[id]
        if (section === undefined) continue
        const fit = fits.get(section) ?? { words: 0, score: 0, terms: new Set() }
        fit.words++
        fit.score += score * weightOf(section.href, query)
        for (const term of terms) fit.terms.add(term)
        fits.set(section, fit)
      }
    const most = Math.max(0, ...[...fits.values()].map((fit) => fit.words))
    const best = [...fits.values()].filter((fit) => fit.words === most)
    const least = most > 1 && (best.length < FEW_RESULTS || words.length >= 3) ? most - 1 : most
    return [...fits]
      .filter(([, fit]) => fit.words >= least)
      .toSorted(([, a], [, b]) => b.words - a.words || b.score - a.score)
  }
  return (query) =>
    search(query)
      .slice(0, MOST_RESULTS)
      .map(([{ heading, href, prose, title }, { terms }]) => ({
        href,
        title,
        heading,
        excerpt: excerptOf(prose, [...terms]),
      }))
}
