/** The widget's texts in other languages, as files: nothing is missing, and each is filled in where English is. */

import { readdirSync, readFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import { failures } from "../../../../src/http/answers/failures.ts"
import { TicketState } from "../../../../src/protocol/ticket.ts"
import { extraStrings } from "../../../../src/web/widget/extras/extra-strings.ts"
import { match, NAMES } from "../../../../src/web/widget/languages/languages.ts"
import type { Text } from "../../../../src/web/widget/words/fill.ts"
import { createSay, defaultStrings } from "../../../../src/web/widget/words/strings.ts"
import { visitStrings } from "../../../../src/web/widget/words/visit-strings.ts"

const allStrings = { ...defaultStrings, ...visitStrings, ...extraStrings }

const directory = new URL("../../../../src/web/widget/languages/", import.meta.url)
const files = readdirSync(directory).flatMap((file) => /^(.+)\.json$/.exec(file)?.[1] ?? [])

const read = (name: string): Readonly<Record<string, Text>> =>
  JSON.parse(readFileSync(new URL(`${name}.json`, directory), "utf8"))

/** The codes of the gate that callers meet have a title or a text of their own; all others share one. */
const GATE_KEYS = [
  "refused.blocked",
  "refused.rate_limited.title",
  "refused.budget_exhausted.title",
  "refused.queue_full.title",
  "refused.draining.title",
  "refused.identity_required.title",
  "refused.identity_refused.title",
  "notice.agent_busy",
  "notice.agent_unavailable",
  "ended.removed",
  "ended.reclaimed",
  "ended.stopped",
  "ended.silent",
  "ended.closed",
  "refused.closed.title",
]

const formsOf = (text: Text): ReadonlyArray<readonly [form: string, text: string]> =>
  typeof text === "string" ? [["", text]] : Object.entries(text)

/** What a language does not write: half-width signs in Chinese and Japanese, a breaking space before a French sign. */
const FOREIGN: Readonly<Record<string, RegExp>> = {
  fr: /[«“] | [:;?!»”]|[^\s\u00a0\u202f][:;?!»]/u,
  ja: /[,:;?!()]/,
  "zh-Hans": /[,:;?!()]/,
}

const placeholders = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/\{(\w+)\}/g)].flatMap(([, name]) => name ?? []).sort()

/** What a text is filled with. */
const required = (key: string): ReadonlyArray<string> => {
  const english = Object.entries<Text>(allStrings).find(([each]) => each === key)?.[1] ?? ""
  const other = typeof english === "string" ? english : english.other
  return placeholders(other)
}

describe("the languages of the widget", () => {
  it("are 15 at least besides English, and each has a file", () => {
    expect(files.length).toBeGreaterThanOrEqual(15)
    expect(["en", ...files].toSorted()).toEqual(NAMES.toSorted())
  })

  it("are all named in the documents", () => {
    const pages = readFileSync(new URL("../../../../src/docs/widget.md", import.meta.url), "utf8")
    const listed = /^The texts are in [^.]*\./m.exec(pages)?.[0] ?? ""
    const names = new Intl.DisplayNames("en", { type: "language" })
    for (const name of NAMES) expect(listed).toContain(names.of(name.split("-")[0] ?? name))
  })

  it("are found by what browsers and pages call them", () => {
    const found = (tag: string): string | undefined => match(tag)?.name
    for (const name of NAMES) expect(found(name)).toBe(name)
    expect(["de-AT", "DE", "pt-PT", "iw", "es-419", "en-GB"].map(found)).toEqual(["de", "de", "pt", "he", "es", "en"])
    expect(["zh", "zh-CN", "zh-Hans-SG", "zh-TW", "zh-Hant"].map(found)).toEqual([
      "zh-Hans",
      "zh-Hans",
      "zh-Hans",
      undefined,
      undefined,
    ])
    expect(["", "eu", "not a tag", "de_DE"].map(found)).toEqual([undefined, undefined, undefined, undefined])
    expect(match("ar-EG")?.locale).toBe("ar-EG-u-nu-latn")
  })

  it("name only codes that the gate has", () => {
    const codes = Object.values(failures).flatMap(({ problems }) => problems.flatMap(({ codes }) => [...codes]))
    const known = [...codes.flatMap((code) => [`refused.${code}`, `notice.${code}`])]
    const ends = TicketState.literals.map((state) => `ended.${state}`)
    for (const key of GATE_KEYS) {
      expect([...known, ...ends]).toContain(key.replace(".title", ""))
      expect(Object.keys(allStrings)).toContain(key)
    }
  })

  for (const name of files) {
    describe(name, () => {
      const texts = read(name)

      it("has exactly the keys that are needed", () => {
        expect(Object.keys(texts).toSorted()).toEqual(Object.keys(allStrings).toSorted())
      })

      it("has exactly the plural forms that its numbers need", () => {
        const rules = new Intl.PluralRules(name)
        const numbers = Array.from({ length: 1_000 }, (_, index) => index + 1)
        for (const [key, english] of Object.entries<Text>(allStrings)) {
          const forms = formsOf(texts[key] ?? "")
          if (typeof english === "string") {
            expect(forms.length, key).toBe(1)
            continue
          }
          const categories = rules.resolvedOptions().pluralCategories
          expect(forms.map(([form]) => form).toSorted(), key).toEqual(categories.toSorted())
          // a form that does not say its number is of one number only
          for (const [form, text] of forms.filter(([, text]) => !text.includes("{n}")))
            expect(numbers.filter((n) => rules.select(n) === form).length, `${key}: ${text}`).toBeLessThanOrEqual(1)
        }
      })

      it("names the agent where it or the connection to it fails, because the visitor's network may be well", () => {
        const agent = String(texts["in-call.agent"]).toLowerCase()
        for (const key of ["in-call.agent-lost", "ended.lost"])
          expect(String(texts[key]).toLowerCase()).toContain(agent)
      })

      it("says first that it connects again, in the same words wherever it does", () => {
        const keys = ["waiting.link-lost", "in-call.link-lost", "in-call.agent-lost"]
        const begun = keys.map((key) => /^[^.…]+… /.exec(String(texts[key]))?.[0])
        expect(begun[0]).toBeDefined()
        expect(new Set(begun).size).toBe(1)
      })

      it("does not say of a lost place or call that the page was offline: the gate or the agent may be what was away", () => {
        const offline = /offline|hors ligne|çevrimdışı|офлайн|オフライン|오프라인|离线|ऑफ़लाइन/i
        for (const key of ["ended.abandoned", "ended.lost"]) expect(String(texts[key])).not.toMatch(offline)
      })

      it("fills in what English does", () => {
        for (const [key, text] of Object.entries(texts)) {
          const forms = formsOf(text)
          const needed = required(key)
          for (const [form, each] of forms) {
            const own = placeholders(each)
            if (form === "" || form === "other") expect(own, key).toEqual(needed)
            else for (const placeholder of own) expect(needed, key).toContain(placeholder)
          }
        }
      })

      it("is punctuated as its language is", () => {
        const all = Object.values(texts).flatMap((text) => formsOf(text).map(([, each]) => each))
        // no text has half a pair of quotation marks
        for (const text of all) expect([...text.matchAll(/[“”„«»「」״]/gu)].length % 2, text).toBe(0)
        const foreign = FOREIGN[name]
        if (foreign !== undefined) for (const text of all) expect(text).not.toMatch(foreign)
      })

      it("is tidy, is a translation, and is small", () => {
        const all = Object.entries(texts).flatMap(([key, text]) =>
          formsOf(text).map(([, each]) => [key, each] as const),
        )
        for (const [key, text] of all) expect(text, key).toMatch(/^\S(?:(?!\s\s|"|\.\.\.).)*\S$|^\S$/u)
        const english = new Set(
          Object.values<Text>(allStrings).flatMap((text) => formsOf(text).map(([, each]) => each)),
        )
        expect(all.filter(([, text]) => english.has(text)).length).toBeLessThanOrEqual(3)
        expect(gzipSync(JSON.stringify(texts), { level: 9 }).length).toBeLessThanOrEqual(4_000)
      })
    })
  }
})

describe("a text", () => {
  const say = (name: string, strings = {}) => {
    const language = match(name) ?? { name: "en", locale: "en" }
    return createSay(
      () => strings,
      () => ({ ...language, texts: name === "en" ? {} : read(name) }),
    )
  }

  it("has the plural form and the number of its language", () => {
    expect(say("pl")("waiting.ahead", { n: 1 })).toBe("Przed Tobą jest jedna osoba.")
    expect(say("pl")("waiting.ahead", { n: 3 })).toBe("Przed Tobą są 3 osoby.")
    expect(say("pl")("waiting.ahead", { n: 5 })).toBe("Przed Tobą jest 5 osób.")
    expect(say("ar")("waiting.ahead", { n: 2 })).toBe("أمامك شخصان.")
    expect(say("ar")("waiting.ahead", { n: 11 })).toBe("أمامك 11 شخصًا.")
    expect(say("de")("waiting.ahead", { n: 1234 })).toBe("1.234 Personen sind vor Ihnen.")
  })

  it("is the page's own, else the language's, else English", () => {
    const own = { "idle.begin": "Los!", "idle.title": 1, "waiting.ahead": { other: "noch {n}" } }
    expect(say("de", own)("idle.begin")).toBe("Los!")
    expect(say("de", own)("idle.title")).toBe("Sprechen Sie mit uns")
    expect(say("de", own)("waiting.ahead", { n: 1 })).toBe("noch 1")
    expect(say("en", own)("idle.title")).toBe("Talk to us")
    expect(say("de")(["refused.unheard-of", "refused.other"], { message: "Out of order." })).toMatch(/^Bitte/)
    expect(say("en")(["refused.unheard-of", "refused.other"], { message: "Out of order." })).toMatch(/^Please/)
    expect(say("de")("constructor")).toBe("")
  })

  it("never is the gate's or the connection's own, in any language", () => {
    for (const name of NAMES) {
      for (const [key, text] of Object.entries<Text>({ ...allStrings, ...(name === "en" ? {} : read(name)) })) {
        for (const [, each] of formsOf(text)) expect(placeholders(each), `${name}: ${key}`).not.toContain("message")
      }
    }
    // unless the page wants it so
    const own = { "refused.other": "Sorry: {message}" }
    expect(say("en", own)(["refused.x", "refused.other"], { message: "Out of order." })).toBe("Sorry: Out of order.")
  })
})
