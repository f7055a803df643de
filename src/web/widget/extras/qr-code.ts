/**
 * A QR code (ISO/IEC 18004) of a text: byte mode, error correction of level L, versions 1 to 15, always the same mask. It is made here, so
 * that the address of a place goes to no service.
 */
/** Codewords for error correction in each block, and the number of blocks, of each version at level L. */
const CORRECTION = [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22]
const BLOCKS = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6]
/** Level L with mask 0, with its check bits. */
const FORMAT = 0b111011111000100
type Bytes = ReadonlyArray<number>

/** Multiplies in the field of 256 elements by which the codewords are checked. */
const times = (a: number, b: number): number => {
  let product = 0
  for (let bit = 7; bit >= 0; bit--) product = (product << 1) ^ ((product >> 7) * 0x11d) ^ (((b >> bit) & 1) * a)
  return product
}

/** The codewords that correct errors of a block (Reed–Solomon). */
const correctionOf = (data: Bytes, degree: number): Bytes => {
  let [divisor, root]: [Array<number>, number] = [[1], 1]
  for (let i = 0; i < degree; i++) {
    divisor = [...divisor, 0].map((each, j) => each ^ times(divisor[j - 1] ?? 0, root))
    root = times(root, 2)
  }
  let rest: Array<number> = Array.from({ length: degree }, () => 0)
  for (const byte of data) {
    const factor = byte ^ (rest[0] ?? 0)
    rest = rest.map((_, i) => (rest[i + 1] ?? 0) ^ times(divisor[i + 1] ?? 0, factor))
  }
  return rest
}

/** Appends the check bits of a code with this generator. */
const withCheck = (value: number, generator: number, bits: number): number => {
  let rest = value
  for (let i = 0; i < bits; i++) rest = (rest << 1) ^ ((rest >> (bits - 1)) * generator)
  return (value << bits) | rest
}

/** Where the small squares of a version are, on both axes. */
const alignment = (version: number): Bytes => {
  if (version === 1) return []
  const count = Math.floor(version / 7) + 2
  const step = Math.ceil((version * 4 + 4) / (count * 2 - 2)) * 2
  return [6, ...Array.from({ length: count - 1 }, (_, i) => version * 4 + 10 - step * (count - 2 - i))]
}

/** All codewords of a version, whatever they are for. */
const codewords = (version: number): number => {
  const count = alignment(version).length
  const squares = count === 0 ? 0 : (25 * count - 10) * count - 55
  return Math.floor(((16 * version + 128) * version + 64 - squares - (version > 6 ? 36 : 0)) / 8)
}

/** The data and its correction, interleaved; undefined if it does not fit into a version. */
const encode = (content: Bytes, version: number): Bytes | undefined => {
  const [degree = 0, blocks = 0] = [CORRECTION[version - 1], BLOCKS[version - 1]]
  const capacity = codewords(version) - degree * blocks
  const { length } = content
  const head = version < 10 ? [4, length >> 4, length] : [4, length >> 12, length >> 8, length >> 4, length]
  // half bytes: the mode, the length, the content and the end
  const halves = [...head, ...content.flatMap((byte) => [byte >> 4, byte]), 0].map((half) => half & 15)
  if (halves.length > capacity * 2) return undefined
  const data = Array.from({ length: capacity }, (_, i) => {
    const [high, low] = [halves[i * 2], halves[i * 2 + 1]]
    // the bytes that the standard fills up with
    return high === undefined ? ((i - Math.ceil(halves.length / 2)) % 2 === 0 ? 0xec : 0x11) : (high << 4) | (low ?? 0)
  })
  // the first blocks have one byte less, if they are not all as long
  const short = Math.floor(capacity / blocks)
  const parts = Array.from({ length: blocks }, (_, i) => {
    const longer = (at: number): number => Math.max(0, at - (blocks - (capacity % blocks)))
    return data.slice(short * i + longer(i), short * (i + 1) + longer(i + 1))
  })
  const columns = (of: ReadonlyArray<Bytes>, height: number): Bytes =>
    Array.from({ length: height }, (_, i) => of.flatMap((each) => each[i] ?? [])).flat()
  return [
    ...columns(parts, short + 1),
    ...columns(
      parts.map((part) => correctionOf(part, degree)),
      degree,
    ),
  ]
}

/** The dark modules, in rows; undefined if the text is too long. */
export const qrCode = (text: string): ReadonlyArray<ReadonlyArray<boolean>> | undefined => {
  const content = [...new TextEncoder().encode(text)]
  const found = CORRECTION.map((_, i) => [i + 1, encode(content, i + 1)] as const).find(
    ([, words]) => words !== undefined,
  )
  const [version, words] = found ?? []
  if (version === undefined || words === undefined) return undefined
  const size = version * 4 + 17
  const rows: Array<Array<boolean | undefined>> = Array.from({ length: size }, () => Array.from({ length: size }))
  const set = (x: number, y: number, dark: boolean): void => {
    const row = rows[y]
    if (row !== undefined && x >= 0 && x < size) row[x] = dark
  }
  /** Squares one in the other, round a middle. */
  const square = (x: number, y: number, reach: number, light: ReadonlyArray<number>): void => {
    for (let dy = -reach; dy <= reach; dy++)
      for (let dx = -reach; dx <= reach; dx++)
        set(x + dx, y + dy, !light.includes(Math.max(Math.abs(dx), Math.abs(dy))))
  }
  for (let i = 0; i < size; i++) {
    set(i, 6, i % 2 === 0)
    set(6, i, i % 2 === 0)
  }
  const places = alignment(version)
  // not where the three large ones are
  const isFree = (x: number, y: number): boolean => Math.min(x, y) > 6 || (x !== y && Math.max(x, y) < size - 7)
  for (const x of places) for (const y of places) if (isFree(x, y)) square(x, y, 2, [1])
  for (const [x, y] of [
    [3, 3],
    [size - 4, 3],
    [3, size - 4],
  ] as const)
    square(x, y, 4, [2, 4])
  for (let i = 0; i < 15; i++) {
    const dark = ((FORMAT >> i) & 1) === 1
    const skip = (at: number): number => (at > 5 ? at + 1 : at)
    // twice, beside the large squares
    if (i < 8) set(8, skip(i), dark)
    else set(i === 8 ? 7 : 14 - i, 8, dark)
    if (i < 8) set(size - 1 - i, 8, dark)
    else set(8, size - 15 + i, dark)
  }
  set(8, size - 8, true)
  if (version > 6) {
    const bits = withCheck(version, 0x1f25, 12)
    for (let i = 0; i < 18; i++) {
      const [near, far] = [Math.floor(i / 3), size - 11 + (i % 3)]
      set(near, far, ((bits >> i) & 1) === 1)
      set(far, near, ((bits >> i) & 1) === 1)
    }
  }
  // the content goes up and down in columns two wide, from the right, past the row of marks
  let at = 0
  for (let right = size - 1; right > 0; right -= right === 8 ? 3 : 2) {
    const upward = ((right + 1) & 2) === 0
    for (let step = 0; step < size; step++) {
      const y = upward ? size - 1 - step : step
      for (const x of [right, right - 1]) {
        if (rows[y]?.[x] !== undefined) continue
        const bit = ((words[at >> 3] ?? 0) >> (7 - (at & 7))) & 1
        at++
        set(x, y, (bit === 1) !== ((x + y) % 2 === 0))
      }
    }
  }
  return rows.map((row) => row.map((dark) => dark === true))
}
