/**
 * Writes small MaxMind databases (format 2.0, IPv6 tree with 24-bit records, or an IPv4 tree), for tests.
 * Format: https://maxmind.github.io/MaxMind-DB/
 */
import { parseRange } from "../../src/lib/ip/ranges.ts"

type Value = string | number | boolean | ReadonlyArray<string> | { readonly [key: string]: Value }

const METADATA_MARKER = Buffer.from("\xab\xcd\xefMaxMind.com", "latin1")
const RECORD_BITS = 24

const control = (type: number, size: number): ReadonlyArray<number> => {
  if (size > 28) throw new RangeError("longer values are not supported")
  return type > 7 ? [size, type - 7] : [(type << 5) | size]
}

const encode = (value: Value): Buffer => {
  if (typeof value === "string") return Buffer.from([...control(2, Buffer.byteLength(value)), ...Buffer.from(value)])
  if (typeof value === "boolean") return Buffer.from(control(14, value ? 1 : 0))
  if (typeof value === "number") {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(value)
    return Buffer.from([...control(6, 4), ...bytes])
  }
  if (isList(value)) return Buffer.concat([Buffer.from(control(11, value.length)), ...value.map(encode)])
  const entries = Object.entries(value)
  return Buffer.concat([
    Buffer.from(control(7, entries.length)),
    ...entries.flatMap(([key, each]) => [encode(key), encode(each)]),
  ])
}

const isList = (value: Value): value is ReadonlyArray<string> => Array.isArray(value)

interface Node {
  readonly children: [Node | number | undefined, Node | number | undefined]
}

const bitsOf = (words: ReadonlyArray<number>): string =>
  words.map((word) => word.toString(2).padStart(32, "0")).join("")

/** The bytes of a database with these records, by CIDR. Records must not overlap. */
export const mmdb = (options: {
  readonly type: string
  readonly ipVersion: 4 | 6
  readonly buildEpochSeconds: number
  readonly records: Readonly<Record<string, { readonly [key: string]: Value }>>
}): Buffer => {
  const data: Array<Buffer> = []
  const root: Node = { children: [undefined, undefined] }
  let offset = 0
  for (const [cidr, record] of Object.entries(options.records)) {
    const range = parseRange(cidr)
    if (range === undefined) throw new Error(`${cidr} is no CIDR`)
    const words = range.version === 4 ? [range.first] : range.first
    // IPv4 is ::/96 of an IPv6 tree
    const inTree = options.ipVersion === 6 && range.version === 4 ? [0, 0, 0, ...words] : words
    const prefix = Number(cidr.split("/")[1]) + (inTree.length - words.length) * 32
    let node = root
    const path = bitsOf(inTree).slice(0, prefix)
    for (const [depth, bit] of [...path].entries()) {
      const side = bit === "1" ? 1 : 0
      if (depth === path.length - 1) {
        node.children[side] = offset
        break
      }
      const next = node.children[side]
      if (typeof next === "number") throw new Error(`${cidr} overlaps another record`)
      node = next ?? { children: [undefined, undefined] }
      if (next === undefined) attach(root, path.slice(0, depth + 1), node)
    }
    const bytes = encode(record)
    data.push(bytes)
    offset += bytes.length
  }

  const nodes: Array<Node> = []
  const number = new Map<Node, number>()
  const visit = (node: Node): void => {
    number.set(node, nodes.length)
    nodes.push(node)
    for (const child of node.children) if (typeof child === "object") visit(child)
  }
  visit(root)
  const tree = Buffer.alloc((nodes.length * RECORD_BITS) / 4)
  for (const [index, { children }] of nodes.entries()) {
    for (const [side, child] of children.entries()) {
      const record =
        child === undefined
          ? nodes.length
          : typeof child === "number"
            ? nodes.length + 16 + child
            : (number.get(child) ?? 0)
      tree.writeUIntBE(record, index * 6 + side * 3, 3)
    }
  }

  const metadata = encode({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: options.buildEpochSeconds,
    database_type: options.type,
    description: { en: "for tests" },
    ip_version: options.ipVersion,
    languages: ["en"],
    node_count: nodes.length,
    record_size: RECORD_BITS,
  })
  return Buffer.concat([tree, Buffer.alloc(16), ...data, METADATA_MARKER, metadata])
}

/** Adds a node to the tree at the end of a path of bits. */
const attach = (root: Node, path: string, added: Node): void => {
  let node = root
  for (const bit of path.slice(0, -1)) {
    const next = node.children[bit === "1" ? 1 : 0]
    if (typeof next !== "object") throw new Error("the path is not in the tree")
    node = next
  }
  node.children[path.endsWith("1") ? 1 : 0] = added
}
