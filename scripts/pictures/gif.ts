/**
 * Encodes frames as an animated GIF. All frames share one palette, and a frame has only those pixels that differ from the one before:
 * the others are transparent.
 */
import { createRequire } from "node:module"
import type { Page } from "playwright-core"

type Palette = Array<ReadonlyArray<number>>

interface FrameOptions {
  readonly palette?: Palette
  readonly delay: number
  readonly transparent: boolean
  readonly transparentIndex?: number
  readonly dispose: number
}

/** What is used of gifenc, which has no types. */
interface Gifenc {
  readonly quantize: (rgba: Uint8ClampedArray, colours: number) => Palette
  readonly applyPalette: (rgba: Uint8ClampedArray, palette: Palette) => Uint8Array
  readonly GIFEncoder: () => {
    readonly writeFrame: (index: Uint8Array, width: number, height: number, options: FrameOptions) => void
    readonly finish: () => void
    readonly bytes: () => Uint8Array
  }
}
const { applyPalette, GIFEncoder, quantize }: Gifenc = createRequire(import.meta.url)("gifenc")

interface Pixels {
  readonly width: number
  readonly height: number
  readonly rgba: Uint8ClampedArray
}

/** Decodes PNGs by a browser's page. */
export const decoder = async (page: Page): Promise<(png: Buffer) => Promise<Pixels>> => {
  await page.evaluate(`globalThis.decode = async (png) => {
    const bitmap = await createImageBitmap(await (await fetch("data:image/png;base64," + png)).blob())
    const { width, height } = bitmap
    const context = new OffscreenCanvas(width, height).getContext("2d")
    context.drawImage(bitmap, 0, 0)
    return { width, height, rgba: new Uint8Array(context.getImageData(0, 0, width, height).data.buffer).toBase64() }
  }`)
  return async (png) => {
    const { height, rgba, width } = await page.evaluate<{ width: number; height: number; rgba: string }>(
      `decode(${JSON.stringify(png.toString("base64"))})`,
    )
    return { width, height, rgba: new Uint8ClampedArray(Buffer.from(rgba, "base64")) }
  }
}

/** The colours that a GIF can have beside transparency. */
const COLOURS = 255
/** Every so many frames, one is asked for its colours. */
const ASKED = 6

export interface Frame extends Pixels {
  /** how long it is shown, in milliseconds: tens of them */
  readonly millis: number
}

export const encodeGif = (frames: ReadonlyArray<Frame>): Uint8Array => {
  const [first] = frames
  if (first === undefined) throw new Error("A moving picture has frames.")
  const asked = frames.filter((_, index) => index % ASKED === 0)
  const all = new Uint8ClampedArray(asked.length * first.rgba.length)
  for (const [index, { rgba }] of asked.entries()) all.set(rgba, index * rgba.length)
  const palette = quantize(all, COLOURS)
  const transparentIndex = palette.length
  const gif = GIFEncoder()
  let shown: Uint8Array | undefined
  for (const { height, millis, rgba, width } of frames) {
    const index = applyPalette(rgba, palette)
    const before = shown
    const changed =
      before === undefined ? index : index.map((colour, i) => (before[i] === colour ? transparentIndex : colour))
    gif.writeFrame(changed, width, height, {
      ...(before === undefined ? { palette: [...palette, [0, 0, 0]] } : {}),
      delay: millis,
      transparent: true,
      transparentIndex,
      // the next frame is drawn over this one
      dispose: 1,
    })
    shown = index
  }
  gif.finish()
  return gif.bytes()
}
