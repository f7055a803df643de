/**
 * Two projects: `unit` needs nothing but this process, `system` starts servers (Redis, PostgreSQL, the built gate) and
 * a browser, each on a free port of 127.0.0.1. `npm test` runs both.
 */
import { enableCompileCache, getCompileCacheDir } from "node:module"
import { defineConfig } from "vitest/config"
import { LongestFirst } from "./scripts/longest-first.ts"

// what TypeScript and V8 make of the modules is kept for the other processes and for the next run: half of what loading them takes
enableCompileCache()
process.env.NODE_COMPILE_CACHE ??= getCompileCacheDir()

/** Tests that start a process or a browser. */
const system = [
  "test/{contract,e2e,simulation,web}/**/*.test.ts",
  "test/chaos/chaos.test.ts",
  "test/**/*.system.test.ts",
]

export default defineConfig({
  test: {
    pool: "threads",
    // many tests wait: with one for each of the two cores, half of the time would be lost
    maxWorkers: 5,
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./scripts/summary-reporter.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: system,
          // loading the modules again for each file took half of the time
          isolate: false,
          // only a test that hangs takes so long, also on a busy machine
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "system",
          include: system,
          // a process of its own, so that servers can be killed with it and one file cannot starve another's timers
          pool: "forks",
          isolate: false,
          // many times what a test takes on a busy machine: only one that hangs takes so long
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
})
