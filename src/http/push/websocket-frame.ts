/** Frames of a WebSocket server (RFC 6455 §5.2) that are sent to thousands of connections: texts of ASCII, and pings. */

/** FIN and the opcode of a ping, and no payload. */
export const PING_FRAME = "\x89\x00"

/** FIN, and the opcode of a text. */
const FINAL_TEXT = "\x81"
/** A longer text has its length in the next two bytes. */
const MAX_SHORT = 125
const TWO_BYTES = "\x7e"

/** The frame of a text of ASCII, shorter than 64 KB: one byte for each character, as `latin1` writes them. */
export const textFrame = (text: string): string => {
  const { length } = text
  return length <= MAX_SHORT
    ? FINAL_TEXT + String.fromCharCode(length) + text
    : FINAL_TEXT + TWO_BYTES + String.fromCharCode(length >> 8, length & 255) + text
}
