/**
 * Makes the built library import the modules of `effect` that it uses (`effect/Effect`) instead of an index that loads all of them. They
 * are the same modules, so a host that imports the index shares them.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, sep } from "node:path"

/** An import of names from `effect` or one of its indexes, as it is written in minified code. Types are gone by now. */
const IMPORT = /(?<=^|[;\n])import\{([^}]*)\}from"(effect(?:\/[\w-]+)?)";/g

/** Rewrites the scripts below `output`, except in directories that are bundled. */
export const deepenImports = (output, effect, bundled) => {
  const isModule = (path) => existsSync(join(effect, "dist", `${path}.js`))
  for (const name of readdirSync(output, { recursive: true })) {
    if (!name.endsWith(".js") || bundled.some((directory) => name.startsWith(directory + sep))) continue
    const file = join(output, name)
    const source = readFileSync(file, "utf8")
    const rewritten = source.replace(IMPORT, (_all, names, index) => {
      const imports = names
        .split(",")
        .map((each) => each.trim())
        .filter(Boolean)
        .map((each) => {
          const [imported, local = imported] = each.split(/\s+as\s+/)
          const path = index === "effect" ? imported : `${index.slice("effect/".length)}/${imported}`
          // what is no module, such as `pipe`, is a function that an index exports again
          return isModule(path) ? `import*as ${local} from"effect/${path}";` : `import{${each}}from"${index}";`
        })
      return imports.join("")
    })
    if (rewritten !== source) writeFileSync(file, rewritten)
  }
}
