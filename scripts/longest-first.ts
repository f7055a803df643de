/**
 * Begins with the test files that take longest, so that none of them is left for the end, when the other workers have nothing to do.
 * Vitest alone knows this from the run before, of which a clean clone has none.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** Each takes half a minute or more; the longest first. Another file may be added, and none has to be. */
const LONG = [
  "contract/differential.test.ts",
  "chaos/chaos.test.ts",
  "e2e/changed-settings.test.ts",
  "simulation/simulation.test.ts",
  "e2e/outages.test.ts",
  "simulation/redis.test.ts",
  "web/widget-queue.test.ts",
  "web/widget-call.test.ts",
  "e2e/deadlines.test.ts",
  "contract/queue.test.ts",
  "web/dashboard-keys.test.ts",
  "web/dashboard-pages.test.ts",
  "web/dashboard-records.test.ts",
  "web/dashboard-sign-in.test.ts",
  "web/dashboard-api.test.ts",
  "platform/crash-recovery.system.test.ts",
  "web/widget-appearance.test.ts",
  "e2e/shutdown-starts.test.ts",
  "web/console/serial.test.ts",
  "e2e/failures.test.ts",
  "platform/users.system.test.ts",
  "web/widget-refusals.test.ts",
  "store/redis-failover.system.test.ts",
  "e2e/stranded.test.ts",
]

const place = ({ moduleId }: TestSpecification): number => {
  const at = LONG.findIndex((file) => moduleId.endsWith(`/test/${file}`))
  return at === -1 ? LONG.length : at
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // the order of files of the same place stays
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b))
  }
}
