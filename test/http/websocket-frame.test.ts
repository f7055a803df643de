/** Frames that are written as one text are those of `ws`. */
import { expect, it } from "@effect/vitest"
import { Sender } from "ws"
import { textFrame } from "../../src/http/websocket-frame.ts"

it.each([0, 1, 83, 125, 126, 127, 255, 256, 1_000, 65_535])("a frame of %i characters is that of ws", (length) => {
  const text = "x".repeat(length)
  const frame = Sender.frame(Buffer.from(text), { fin: true, opcode: 1, mask: false, rsv1: false, readOnly: false })
  expect(Buffer.from(textFrame(text), "latin1")).toEqual(Buffer.concat(frame))
})
