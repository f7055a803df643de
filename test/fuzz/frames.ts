/** Invalid WebSocket frames, each of which violates one rule of RFC 6455. */
import type { Chance } from "../harness/chance.ts"

interface Frame {
  readonly opcode: number
  readonly payload?: Buffer
  readonly fin?: boolean
  /** the three reserved bits, 0 to 7 */
  readonly reserved?: number
  readonly masked?: boolean
  /** the declared length, if it is false */
  readonly claims?: bigint
}

const TEXT = 1
const BINARY = 2
const CLOSE = 8
const PING = 9
const PONG = 10

/** A frame as bytes; the mask is all zeros, which is legal and leaves the payload readable. */
export const frame = ({
  claims,
  fin = true,
  masked = true,
  opcode,
  payload = Buffer.alloc(0),
  reserved = 0,
}: Frame) => {
  const length = claims ?? BigInt(payload.length)
  const mask = masked ? 0x80 : 0
  const head = [(fin ? 0x80 : 0) | (reserved << 4) | opcode]
  if (length < 126n) head.push(mask | Number(length))
  else if (length < 65_536n) head.push(mask | 126, Number(length >> 8n), Number(length & 255n))
  else {
    head.push(mask | 127)
    for (let shift = 56n; shift >= 0n; shift -= 8n) head.push(Number((length >> shift) & 255n))
  }
  return Buffer.concat([Buffer.from(head), Buffer.alloc(masked ? 4 : 0), payload])
}

export const textFrame = (text: string): Buffer => frame({ opcode: TEXT, payload: Buffer.from(text) })

const bytes = (chance: Chance, most: number): Buffer =>
  Buffer.from(Array.from({ length: chance.below(most + 1) }, () => chance.below(256)))

/** One frame that breaks a rule, or is merely odd. */
const hostileFrame = (chance: Chance): Buffer => {
  switch (chance.below(16)) {
    case 0:
      return frame({ opcode: TEXT, masked: false, payload: Buffer.from("unmasked") })
    case 1:
      return frame({ opcode: TEXT, reserved: chance.between(1, 7), payload: bytes(chance, 40) })
    case 2:
      return frame({ opcode: chance.pick(3, 4, 5, 6, 7, 11, 12, 13, 14, 15), payload: bytes(chance, 40) })
    case 3:
      return frame({ opcode: chance.pick(CLOSE, PING, PONG), fin: false, payload: bytes(chance, 40) })
    case 4:
      return frame({ opcode: chance.pick(CLOSE, PING, PONG), payload: Buffer.alloc(chance.between(126, 400)) })
    case 5:
      return frame({ opcode: TEXT, payload: Buffer.from([0xc3, 0x28, 0xff, 0xfe, 0xed, 0xa0, 0x80]) })
    case 6:
      return frame({ opcode: TEXT, claims: chance.pick(2n ** 63n, 2n ** 64n - 1n, 2n ** 53n, 2n ** 32n, 1n << 20n) })
    case 7:
      return frame({ opcode: TEXT, payload: Buffer.alloc(chance.pick(1_025, 16_385, 70_000), 0x61) })
    case 8:
      return Buffer.concat([
        frame({ opcode: TEXT, fin: false, payload: Buffer.from("a") }),
        frame({ opcode: TEXT, payload: Buffer.from("no continuation") }),
      ])
    case 9:
      return frame({ opcode: 0, payload: Buffer.from("nothing to continue") })
    case 10:
      return frame({ opcode: CLOSE, payload: Buffer.from([chance.below(256), chance.below(256), 0xff, 0xfe]) })
    case 11:
      return frame({ opcode: CLOSE, payload: Buffer.from([3]) })
    case 12:
      return Buffer.concat(Array.from({ length: chance.between(1, 60) }, () => frame({ opcode: PING })))
    case 13:
      return Buffer.concat([
        ...Array.from({ length: chance.between(1, 60) }, (_, n) =>
          frame({ opcode: n === 0 ? TEXT : 0, fin: false, payload: Buffer.from("x") }),
        ),
        frame({ opcode: PING, payload: bytes(chance, 125) }),
        frame({ opcode: 0, payload: Buffer.from("x") }),
      ])
    case 14:
      return frame({ opcode: BINARY, payload: bytes(chance, 200) })
    default:
      return bytes(chance, 64)
  }
}

/** Several frames, cut off anywhere. */
export const hostileFrames = (chance: Chance): Buffer => {
  const all = Buffer.concat(Array.from({ length: chance.between(1, 5) }, () => hostileFrame(chance)))
  return chance.percent(25) ? all.subarray(0, chance.below(all.length + 1)) : all
}
