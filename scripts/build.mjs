/**
 * Builds `dist` from `src`: the library's types with tsc, copies of other files, the JSON Schema of the settings, the documents as pages,
 * and with Vite the library, the command line and the pages of `src/web`.
 * With `--if-needed` only when an input changed since the last build.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { delimiter, dirname, extname, join, relative, sep } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { keepReachedDeclarations } from "./declarations.mjs"
import { deepenImports } from "./deep-imports.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const source = join(root, "src")
const output = join(root, "dist")
const web = join(source, "web")
const docs = join(source, "docs")
const stamp = join(output, ".built")

const files = readdirSync(source, { recursive: true })
  .map((name) => join(source, name))
  .filter((file) => statSync(file).isFile())
  .sort()

/** A digest of the build's inputs. */
const fingerprint = () => {
  const hash = createHash("sha256")
  const settings = [
    "package-lock.json",
    "tsconfig.json",
    "scripts/tsconfig.build.json",
    "scripts/build.mjs",
    "scripts/declarations.mjs",
    "scripts/deep-imports.mjs",
    ...readdirSync(join(root, "scripts/docs")).map((name) => `scripts/docs/${name}`),
    "scripts/settings-types.ts",
    "scripts/cli.vite.config.ts",
    "scripts/library.vite.config.ts",
  ]
  for (const file of [...settings.map((name) => join(root, name)), ...files]) {
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update("\0")
  }
  return hash.digest("hex")
}

const run = (command, ...args) => {
  const path = `${join(root, "node_modules/.bin")}${delimiter}${process.env.PATH ?? ""}`
  const { status } = spawnSync(command, args, {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    // in a test, Vite would build the pages for development
    env: { ...process.env, PATH: path, NODE_ENV: "production" },
    shell: process.platform === "win32",
  })
  if (status !== 0) {
    console.error(`The build failed at: ${[command, ...args].join(" ")}`)
    process.exit(1)
  }
}

const built = fingerprint()
if (process.argv.includes("--if-needed") && existsSync(stamp) && readFileSync(stamp, "utf8") === built) process.exit(0)

console.log("Building …")
rmSync(output, { recursive: true, force: true })
run("node", "node_modules/@typescript/native/bin/tsc", "-p", "scripts/tsconfig.build.json")

run("vite", "build", "--config", "scripts/library.vite.config.ts", "--logLevel", "warn")
deepenImports(output, join(root, "node_modules/effect"), ["web", "cli"])

for (const file of files) {
  const rendered = file.startsWith(web + sep) || file.startsWith(docs + sep) || file.endsWith(`${sep}section.md`)
  if (extname(file) !== ".ts" && !rendered) cpSync(file, join(output, relative(source, file)))
}
run("node", "scripts/docs/render.ts", join(output, "docs"))

const { jsonSchema } = await import(pathToFileURL(join(source, "settings/showing/json-schema.ts")).href)
const { settingsTypes } = await import(pathToFileURL(join(root, "scripts/settings-types.ts")).href)
const schema = jsonSchema()
writeFileSync(join(output, "settings.schema.json"), `${JSON.stringify(schema)}\n`)
writeFileSync(join(output, "embedded/settings.d.ts"), settingsTypes(schema))

// an old Node must be able to read the program's entry, so it is JavaScript as it stands
const main = join(output, "main.js")
writeFileSync(main, readFileSync(join(source, "main.ts"), "utf8").replace('"./cli/cli.ts"', '"./cli/cli.js"'))
chmodSync(main, 0o755)

run("vite", "build", "--config", "scripts/cli.vite.config.ts", "--logLevel", "warn")
for (const config of ["vite.config.ts", "dashboard/vite.config.ts", "console/vite.config.ts"]) {
  if (existsSync(join(web, config))) run("vite", "build", "--config", `src/web/${config}`, "--logLevel", "warn")
}

keepReachedDeclarations(root, output)

writeFileSync(stamp, built)
