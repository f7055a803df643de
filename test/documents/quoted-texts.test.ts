/** The documents quote the widget in the words that it has, so that a reader finds what the page shows. */
import { assert, describe, it } from "@effect/vitest"
import { readDocument } from "../../scripts/docs/documents.ts"
import { extraStrings } from "../../src/web/widget/extras/extra-strings.ts"
import { defaultStrings } from "../../src/web/widget/words/strings.ts"
import { visitStrings } from "../../src/web/widget/words/visit-strings.ts"

const texts = Object.values({ ...defaultStrings, ...visitStrings, ...extraStrings }).flatMap((text) =>
  typeof text === "string" ? [text] : Object.values(text),
)

describe("a text in “quotation marks”", () => {
  for (const [name, atLeast] of [
    ["troubleshooting", 15],
    ["widget", 8],
    ["embedding", 2],
    ["vendor-sdks", 1],
  ] as const)
    it(`of ${name}.md is one of the widget, or its beginning`, () => {
      const quoted = [...readDocument(name).matchAll(/“([^”]+)”/g)].map(([, text = ""]) => text.replaceAll(/\s+/g, " "))
      assert.isAtLeast(quoted.length, atLeast)
      for (const text of quoted)
        assert.isTrue(
          texts.some((each) => each.startsWith(text)),
          text,
        )
    })
})
