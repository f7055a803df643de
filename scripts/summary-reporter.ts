/**
 * Prints final lines: how to begin the random suites where they have begun, and for scripts `N passed, N failed`. A file that could not be
 * loaded and an error outside of any test count as failed.
 */
import type { Reporter, TestModule } from "vitest/node"
import { SEED } from "../test/harness/seed.ts"

export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandledErrors: ReadonlyArray<unknown>): void {
    let passed = 0
    let failed = unhandledErrors.length
    for (const module of modules) {
      failed += module.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === "passed") passed++
        else if (state === "failed") failed++
      }
    }
    process.on("exit", () => {
      process.stdout.write(
        `\nThe random suites began with seed ${SEED}: TEST_SEED=${SEED} npm test begins there again.\n`,
      )
      process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
    })
  }
}
