/** Encodes PNGs as WebP by a browser, which needs no library. */
import type { Browser } from "playwright-core"

interface Wanted {
  /** of the picture's width and height */
  readonly scale: number
  /** from 0 to 1 */
  readonly quality: number
}

/** For the README and the documents on GitHub. */
export const FULL: Wanted = { scale: 1, quality: 0.85 }
/** For the pages that the gate serves: they are in the package. */
export const SMALL: Wanted = { scale: 0.55, quality: 0.5 }

export const encodeWebp = async (
  browser: Browser,
  png: Uint8Array,
  { quality, scale }: Wanted,
): Promise<Uint8Array> => {
  const page = await browser.newPage()
  const source = Buffer.from(png).toString("base64")
  const encoded = await page.evaluate<string>(`(async () => {
    const bitmap = await createImageBitmap(await (await fetch("data:image/png;base64,${source}")).blob())
    const canvas = new OffscreenCanvas(Math.round(bitmap.width * ${scale}), Math.round(bitmap.height * ${scale}))
    const context = canvas.getContext("2d")
    context.imageSmoothingQuality = "high"
    context.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
    const webp = await canvas.convertToBlob({ type: "image/webp", quality: ${quality} })
    return new Uint8Array(await webp.arrayBuffer()).toBase64()
  })()`)
  await page.close()
  return Buffer.from(encoded, "base64")
}
