/** What callers read about a type that was expected. */
import { describe, expect, it } from "vitest"
import { plainExpectation } from "../../src/lib/plain-expectation.ts"

describe("an expectation", () => {
  it("is in words, whatever notation the schema has for it", () => {
    expect(plainExpectation("Expected string | null")).toBe("Expected string or null")
    expect(plainExpectation('Expected "start" | "read" | "manage"')).toBe('Expected "start", "read" or "manage"')
    expect(
      plainExpectation(
        'Expected { readonly "type": "Unrestricted", ... } | { readonly "type": "Restricted", ... } | null',
      ),
    ).toBe('Expected object with type "Unrestricted", object with type "Restricted" or null')
    expect(plainExpectation("Expected { readonly a: string } | undefined")).toBe("Expected object or undefined")
    expect(plainExpectation("Expected a value with a length between 1 and 256")).toBe(
      "Expected a value with a length between 1 and 256",
    )
    expect(plainExpectation("Missing key")).toBe("Missing key")
  })
})
