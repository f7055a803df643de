/**
 * Runs what needs no test, side by side: formats and lint, the rules' Lua, types with Effect's diagnostics, the build. What each writes is
 * printed when it has ended; the exit code is 1 when one of them has failed.
 */
import { spawn } from "node:child_process"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
/** The longest first. */
const CHECKS = ["types", "build -- --if-needed", "lint", "rules -- --check"]

const run = (check) =>
  new Promise((resolve) => {
    const child = spawn(`npm run ${check}`, { cwd: root, shell: true, stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        output += chunk
      })
    }
    child.on("close", (code) => {
      console.log(output.trim())
      if (code !== 0) console.error(`\nnpm run ${check} failed`)
      resolve(code)
    })
  })

const codes = await Promise.all(CHECKS.map(run))
process.exit(codes.every((code) => code === 0) ? 0 : 1)
