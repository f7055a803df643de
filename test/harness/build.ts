/**
 * The program under test: `dist/main.js`, built when it is older than its sources. Several test files may ask at once; one
 * builds and the others wait.
 */
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { eventually } from "./process.ts"

const run = promisify(execFile)

const root = fileURLToPath(new URL("../..", import.meta.url))
const lock = join(tmpdir(), `voicegate-build-${createHash("sha256").update(root).digest("hex").slice(0, 16)}.lock`)

export const program = join(root, "dist/main.js")

const code = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "code" in error ? error.code : undefined

/** Takes the lock, unless a living process has it. */
const take = (): boolean => {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" })
    return true
  } catch (error) {
    if (code(error) !== "EEXIST") throw error
    try {
      process.kill(Number(readFileSync(lock, "utf8")), 0)
    } catch (gone) {
      if (code(gone) === "ESRCH") rmSync(lock, { force: true })
    }
    return false
  }
}

const build = async (): Promise<void> => {
  await eventually("another build", take, 120_000)
  try {
    await run(process.execPath, [join(root, "scripts/build.mjs"), "--if-needed"])
  } finally {
    rmSync(lock, { force: true })
  }
}

let built: Promise<void> | undefined

/** Resolves when the program is up to date. */
export const whenBuilt = (): Promise<void> => {
  built ??= build()
  return built
}
