/** The frame of a text as RFC 6455 §5.2 writes it. That clients read it is tested with `ws` (`websocket.test.ts`). */
import { expect, it } from "@effect/vitest"
import { textFrame } from "../../../src/http/push/websocket-frame.ts"

it.each([
  [0, [0x81, 0]],
  [125, [0x81, 125]],
  [126, [0x81, 126, 0, 126]],
  [255, [0x81, 126, 0, 255]],
  [256, [0x81, 126, 1, 0]],
  [65_535, [0x81, 126, 255, 255]],
])("a frame of %i characters begins with %j", (length, head) => {
  const text = "x".repeat(length)
  expect(Buffer.from(textFrame(text), "latin1")).toEqual(Buffer.concat([Buffer.from(head), Buffer.from(text)]))
})
