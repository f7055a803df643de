/** A QR code as a picture. */
import { shape } from "../screens/icons.ts"
import { qrCode } from "./qr-code.ts"

/** The empty margin, in modules. */
const MARGIN = 4

/** The code as a picture with this name; undefined if the text is too long. Dark on light in every theme, as cameras expect it. */
export const drawQrCode = (text: string, name: string): SVGElement | undefined => {
  const rows = qrCode(text)
  if (rows === undefined) return undefined
  const size = rows.length + 2 * MARGIN
  const d = rows
    .flatMap((row, y) => row.map((dark, x) => (dark ? `M${x + MARGIN} ${y + MARGIN}h1v1h-1z` : "")))
    .join("")
  const code = shape("svg", { viewBox: `0 0 ${size} ${size}`, class: "code", role: "img", "aria-label": name })
  code.append(shape("path", { d }))
  return code
}
