/** The link to another device: what is read from an address, and what is left of it. */
import { describe, expect, it } from "vitest"
import { linkOf, readLink } from "../../../../src/web/widget/extras/handoff-link.ts"

const TICKET = "kW3-a_fX0y1Bq9dTzL5mNw"

describe("the link to another device", () => {
  for (const key of ["", "1", "support.team", "a.b.c", "über uns", "50%", "a#b"]) {
    it(`gives the ticket to the widget with the key “${key}” alone, and leaves nothing in the address`, () => {
      const page = "https://shop.example/cart?size=m"
      const link = linkOf(`${page}#terms`, TICKET, key)
      expect(readLink(link, `${key}2`)).toBeUndefined()
      expect(readLink(link, key)).toEqual({ ticket: TICKET, page })
    })
  }

  it("leaves a whole address, also where a path alone would name another host", () => {
    const page = "https://shop.example//cdn.example/cart"
    expect(readLink(linkOf(page, TICKET, ""), "")).toEqual({ ticket: TICKET, page })
  })

  for (const hash of ["", "#/cart", "#voicegate", "#voicegate=", "#voicegate=.", "#voicegate=%.x", "#voicegate=.%"]) {
    it(`is not an address that ends with “${hash}”`, () => {
      expect(readLink(`https://shop.example/${hash}`, "")).toBeUndefined()
    })
  }
})
