/**
 * Checks the types: of what runs on Node with Effect's compiler, which adds the findings of Effect's language service, and of the pages.
 * Where Effect's compiler has no program for this machine, TypeScript's checks the types alone, and a line says so.
 * What a run has found stays in `node_modules/.cache/types`, so that the next one checks only what has changed.
 */
import { spawnSync } from "node:child_process"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, "node_modules")
const typescript = [process.execPath, join(modules, "@typescript/native/bin/tsc")]

/** The command of Effect's compiler; undefined where there is none. */
const effectCompiler = () => {
  const effect = join(modules, "@effect/tsgo/dist/effect-tsgo.cjs")
  const { status, stdout } = spawnSync(process.execPath, [effect, "get-exe-path"], { cwd: root, encoding: "utf8" })
  if (status === 0) return [stdout.trim()]
  console.log("Effect's compiler has no program for this machine: only types are checked.")
  return undefined
}

const check = ([command, ...args], project) => {
  const found = join(modules, ".cache/types", `${project.replaceAll("/", "_")}.tsbuildinfo`)
  const options = ["-p", project, "--incremental", "--tsBuildInfoFile", found]
  return spawnSync(command, [...args, ...options], { cwd: root, stdio: "inherit" }).status === 0
}

const results = [
  check(effectCompiler() ?? typescript, "tsconfig.json"),
  check(typescript, "src/web/tsconfig.json"),
  check(typescript, "scripts/examples/web/tsconfig.json"),
]
process.exit(results.every(Boolean) ? 0 : 1)
