/**
 * Builds `dist` before a checkout is used; with `--setup` it installs the packages first. The published package comes built and without
 * its source, so there it does nothing. Plain JavaScript without dependencies, because npm runs it on any Node.
 */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const scripts = dirname(fileURLToPath(import.meta.url))

const run = (...args) => {
  const { status } = spawnSync(process.execPath, args, { stdio: "inherit" })
  if (status !== 0) process.exit(status ?? 1)
}

if (existsSync(join(scripts, "build.mjs"))) {
  if (process.argv.includes("--setup")) run(join(scripts, "setup.mjs"))
  run(join(scripts, "build.mjs"), "--if-needed")
}
