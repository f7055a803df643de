/**
 * Builds `dist` before a checkout is used; with `--setup` it installs the packages first. The published package comes built and without
 * its source, so there it does nothing, nor where `setup.mjs` installs the packages, after which a build follows. Plain JavaScript without
 * dependencies, because npm runs it on any Node.
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

const buildsLater = process.env.VOICEGATE_BUILDS_LATER === "1"

if (existsSync(join(scripts, "build.mjs")) && !buildsLater) {
  if (process.argv.includes("--setup")) run(join(scripts, "setup.mjs"))
  run(join(scripts, "build.mjs"), "--if-needed")
}
