/** The code that another device's camera reads. Each was decoded by jsQR when it was recorded, as were 130 others of all lengths. */
import { createHash } from "node:crypto"
import { describe, expect, it } from "vitest"
import { qrCode } from "../../../../src/web/widget/extras/qr-code.ts"

const digest = (text: string): string => {
  const rows = qrCode(text) ?? []
  const drawn = rows.map((row) => row.map(Number).join("")).join("\n")
  return `${rows.length} ${createHash("sha256").update(drawn).digest("hex").slice(0, 32)}`
}

describe("a QR code", () => {
  it("is the same as those that a reader has read, of versions 3, 5 and 13", () => {
    expect(digest("https://shop.example/#voicegate=.0123456789")).toBe("29 77b649359663c77b67b3d3e6439ec6d2")
    expect(
      digest("https://shop.example/help?topic=returns&order=8841#voicegate=%2F.4f1c2a9e77b04d0c8f6a1b2c3d4e5f60"),
    ).toBe("37 84869cb24654e1554dc9dee97708fac9")
    expect(digest(`https://shop.example/${"a".repeat(400)}`)).toBe("69 631cfb5a3c5ccf30206ac9f5604a8fcb")
  })

  it("is not drawn of a text that no such code can have", () => {
    expect(qrCode("a".repeat(520))?.length).toBe(77)
    expect(qrCode("a".repeat(521))).toBeUndefined()
  })
})
