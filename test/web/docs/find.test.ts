/** The search over the documents, on their real texts. */
import { assert, describe, it } from "@effect/vitest"
import { DOCUMENTS } from "../../../scripts/docs/documents.ts"
import { renderPage } from "../../../scripts/docs/page.ts"
import { makeFind } from "../../../src/web/docs/find.ts"
import { sectionsOf } from "../../../src/web/docs/sections.ts"

const sections = DOCUMENTS.flatMap((name) => sectionsOf(name, renderPage(name)))
const find = makeFind(sections)
const hrefs = (query: string): ReadonlyArray<string> => find(query).map(({ href }) => href)
/** The text of what a query found first. */
const excerpt = (query: string): string => (find(query)[0]?.excerpt ?? []).map(([text]) => text).join("")

describe("the search of the documents", () => {
  it("searches every section of every document once", () => {
    assert.isAbove(sections.length, 150)
    assert.strictEqual(new Set(sections.map(({ href }) => href)).size, sections.length)
    for (const { heading, href, text } of sections) assert.notMatch(heading + text, /&(?:lt|gt|amp|quot);/, href)
  })

  it("finds a section by its heading before others that mention it", () => {
    for (const [query, href] of [
      ["shopify", "guides#shopify"],
      ["circuit breaker", "failures#circuit-breaker"],
      ["content security policy", "embedding#content-security-policy"],
      ["errors", "wire#errors"],
    ] as const)
      assert.strictEqual(hrefs(query)[0], href, query)
  })

  it("finds settings and codes by their whole name, a part of it, its beginning and with a spelling mistake", () => {
    const queries = ["Security.AllowedOrigins", "AllowedOrigins", "allowedorig", "AllowedOrigns", "queue_full"]
    for (const query of queries) assert.isNotEmpty(hrefs(query), query)
    assert.include(hrefs("queue_full"), "wire#errors")
  })

  it("finds sections that have all words, and marks the words in what it shows", () => {
    const [first] = find("webhook token")
    assert.match(`${first?.heading} ${sections.find(({ href }) => href === first?.href)?.text}`, /webhook/i)
    const marked = (first?.excerpt ?? []).filter(([, found]) => found).map(([text]) => text.toLowerCase())
    assert.isNotEmpty(marked)
    for (const text of marked) assert.match(text, /webhook|token/)
    assert.isBelow(excerpt("webhook token").length, 200)
  })

  it("finds nothing for an empty query and for words that nobody wrote", () => {
    for (const query of ["", "   ", "zzzqqq", "ngrok"]) assert.deepStrictEqual(hrefs(query), [], query)
  })

  it("finds by the words of people who look for help, with little words among them and one word that is not there", () => {
    for (const [query, href] of [
      ["caller hears nothing", "troubleshooting#the-caller-hears-nothing"],
      ["why does the caller hear nothing", "troubleshooting#the-caller-hears-nothing"],
      ["port in use", "troubleshooting#the-port-is-in-use"],
      ["EADDRINUSE", "troubleshooting#the-port-is-in-use"],
      ["429", "troubleshooting#429-too-many-requests"],
      ["microphone does not ask", "troubleshooting#the-browser-does-not-ask-for-the-microphone"],
      ["button not shown", "troubleshooting#no-button-or-widget-appears"],
      ["CORS", "troubleshooting#the-agent-isnt-available"],
      ["everybody waits forever", "troubleshooting#everybody-waits-and-nobody-talks"],
      ["lost place", "troubleshooting#callers-have-lost-their-places"],
      ["how to change the color of the widget", "widget#look-and-colors"],
    ] as const)
      assert.include(hrefs(query).slice(0, 3), href, query)
  })

  it("finds what has most words if nothing has all of them", () => {
    for (const query of ["webhook zzzqqq", "CORS error", "microphone denied", "change colors", "assistant overrides"])
      assert.isNotEmpty(hrefs(query), query)
    assert.include(hrefs("webhook zzzqqq"), hrefs("webhook")[0])
  })

  it("finds first what beginners look for", () => {
    for (const [query, href, within] of [
      ["getting started", "start", 1],
      ["tutorial", "start", 1],
      ["what is a campaign", "start#words", 1],
      ["change colors", "widget#look-and-colors", 3],
      ["logo", "widget#look-and-colors", 3],
      ["CORS error", "troubleshooting#the-agent-isnt-available", 3],
      ["microphone denied", "troubleshooting#the-browser-does-not-ask-for-the-microphone", 3],
      ["variableValues", "vendors#vapi", 1],
      ["license", "start#where-to-go-from-here", 3],
    ] as const)
      assert.include(hrefs(query).slice(0, within), href, query)
    assert.notInclude(hrefs("webhook secret").slice(0, 3), "wire#session-ended-webhook")
  })

  it("shows whole words, and no code", () => {
    for (const query of ["script", "sdk", "vapi", "webhook"])
      for (const { excerpt, href } of find(query)) {
        const shown = excerpt.map(([text]) => text).join("")
        const { prose = "" } = sections.find((each) => each.href === href) ?? {}
        const words = new Set(prose.split(" "))
        for (const word of shown.split(" ").filter((each) => each !== "…" && each !== ""))
          assert.isTrue(words.has(word), `${href}: ${word}`)
        assert.notInclude(shown, "< script")
      }
  })

  it("finds all that has every word before what lacks one", () => {
    const words = ["widget", "queue", "notification"]
    const has = (href: string, word: string): boolean => {
      const { heading = "", text = "", title = "" } = sections.find((each) => each.href === href) ?? {}
      return `${heading} ${title} ${text}`.toLowerCase().includes(word)
    }
    const lacking = hrefs(words.join(" ")).map((href) => words.filter((word) => !has(href, word)).length)
    assert.include(lacking, 1)
    assert.deepStrictEqual(lacking, lacking.toSorted())
  })

  it("takes what is typed as text, not as a pattern", () => {
    for (const query of ["(", "[a", "\\", ".*", "a|b", "$&"]) assert.doesNotThrow(() => find(query), query)
  })
})
