/** Spoils values and texts in the ways that have broken parsers before. Seeded, so that a failure can be repeated. */
import type { Chance } from "../harness/chance.ts"

const deep = (depth: number, open: string, close: string): string => open.repeat(depth) + close.repeat(depth)

/** JSON texts that stand where something else was expected. */
const HOSTILE: readonly [string, ...ReadonlyArray<string>] = [
  "null",
  "true",
  "0",
  "-0",
  "1e999",
  "-1",
  "1.5",
  "9007199254740993",
  '""',
  '"\\u0000"',
  '"\\ud800"',
  '"a/b"',
  '"a\\\\b"',
  '"\\u202e\\u0007\\r\\nSet-Cookie: a=b"',
  '"__proto__"',
  '"constructor"',
  '{"__proto__":{"polluted":"yes"}}',
  '{"constructor":{"prototype":{"polluted":"yes"}}}',
  '{"toString":"yes","hasOwnProperty":"no","length":-1}',
  '{"":""}',
  "[]",
  "[[]]",
  "{}",
  deep(200, "[", "]"),
  `${'{"a":'.repeat(200)}1${"}".repeat(200)}`,
  JSON.stringify("x".repeat(257)),
  JSON.stringify("x".repeat(4_097)),
  JSON.stringify("😀".repeat(2_049)),
  JSON.stringify(Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`name ${n}`, "value"]))),
  JSON.stringify({ ["n".repeat(129)]: "value" }),
]

export type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [name: string]: Json }

/** One place of a JSON text replaced, named again, doubled or taken away. */
const spoilJson = (chance: Chance, value: Json): string => {
  const hostile = (): string => chance.pick(...HOSTILE)
  if (typeof value !== "object" || value === null || chance.percent(15)) return hostile()
  if (Array.isArray(value)) {
    const at = chance.below(value.length + 1)
    return `[${value.map((each, n) => (n === at ? spoilJson(chance, each) : JSON.stringify(each))).join()}]`
  }
  const entries = Object.entries(value)
  const at = chance.below(entries.length + 1)
  const parts = entries.flatMap(([name, each], n) => {
    const written = `${JSON.stringify(name)}:${JSON.stringify(each)}`
    if (n !== at) return [written]
    switch (chance.below(4)) {
      case 0:
        return []
      case 1:
        return [written, `${JSON.stringify(name)}:${hostile()}`]
      case 2:
        return [`${chance.pick('"__proto__"', '"constructor"', '""', '"x"')}:${JSON.stringify(each)}`]
      default:
        return [`${JSON.stringify(name)}:${spoilJson(chance, each)}`]
    }
  })
  if (at === entries.length) parts.push(`${chance.pick('"__proto__"', '"extra"', '"toString"')}:${hostile()}`)
  return `{${parts.join()}}`
}

/** Some characters replaced, inserted, taken away or cut off. */
export const spoilText = (chance: Chance, text: string): string => {
  let spoilt = text
  for (let n = chance.between(1, 4); n > 0; n--) {
    const at = chance.below(spoilt.length + 1)
    const char = String.fromCharCode(
      chance.pick(0, 34, 44, 47, 58, 91, 92, 93, 123, 125, 0x1e, 0xd800, chance.below(65_536)),
    )
    spoilt = chance.pick(
      spoilt.slice(0, at) + char + spoilt.slice(at + 1),
      spoilt.slice(0, at) + char + spoilt.slice(at),
      spoilt.slice(0, at) + spoilt.slice(at + 1),
      spoilt.slice(0, at),
    )
  }
  return spoilt
}

/** A JSON text made from a good value: mostly spoilt somewhere, sometimes everywhere, sometimes not at all. */
export const spoil = (chance: Chance, value: Json): string => {
  const kind = chance.below(100)
  if (kind < 10) return JSON.stringify(value)
  if (kind < 80) return spoilJson(chance, value)
  return spoilText(chance, JSON.stringify(value))
}
