/**
 * Tests of built processes that `npm test` runs with fewer callers, or not at all, because they wait in real time:
 *
 *     npm run build && npm run verify -- e2e
 *
 * The counters of several gates with 200 callers; a key that another process of the platform has revoked. It takes two minutes.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")
const files = ["test/e2e/counters.test.ts", "test/platform/crash-recovery.system.test.ts"]
const command = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--project", "system", ...files]
const { status } = spawnSync(process.execPath, command, {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, TEST_SIZE: "full" },
})
process.exitCode = status ?? 1
