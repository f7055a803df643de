/**
 * Begins with the test files that take longest, so that none of them is left for the end, when the other workers have nothing to do.
 * Vitest alone knows this from the run before, of which a clean clone has none.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node"

/**
 * Each takes twenty seconds or more; the longest first, those that mostly wait beside those that work. Another file may be added, and none
 * has to be.
 */
const LONG = [
  "package/package.system.test.ts",
  "contract/queue.test.ts",
  "e2e/changed-settings.test.ts",
  "examples/examples.system.test.ts",
  "web/widget/call/silence.test.ts",
  "web/widget/call/deaf.test.ts",
  "web/widget/waiting/queue.test.ts",
  "e2e/outages.test.ts",
  "web/widget/call/call.test.ts",
  "e2e/deadlines.test.ts",
  "e2e/shutdown-starts.test.ts",
  "security/fuzz.system.test.ts",
  "e2e/accounts.test.ts",
  "simulation/redis.test.ts",
  "simulation/simulation.test.ts",
  "platform-api/adapters/adapters.test.ts",
  "e2e/platform-outages.test.ts",
  "contract/differential-faults.test.ts",
  "web/widget/call/conversation.test.ts",
  "web/widget/element/embed.test.ts",
  "web/vendors/widget-vendors.test.ts",
  "e2e/rolling-upgrade.test.ts",
  "e2e/failures.test.ts",
  "e2e/counters.test.ts",
  "web/vendors/demo-vendor.test.ts",
  "examples/frameworks.system.test.ts",
  "e2e/traces.test.ts",
  "web/dashboard/pages.test.ts",
  "store/redis/wrong-server.system.test.ts",
  "web/widget/extras/handoff.test.ts",
  "simulation/faults.test.ts",
  "e2e/under-load.test.ts",
  "web/widget/element/floating.test.ts",
  "web/dashboard/setup.test.ts",
  "e2e/deploy.test.ts",
  "chaos/chaos.test.ts",
  "web/console/serial.test.ts",
  "web/widget/element/appearance.test.ts",
  "e2e/planned-stops.test.ts",
  "web/dashboard/keys.test.ts",
  "e2e/command-line.test.ts",
  "contract/differential.test.ts",
  "platform/data/database.system.test.ts",
  "web/console/actions.test.ts",
  "web/widget/waiting/turn.test.ts",
  "platform/users/users.system.test.ts",
  "e2e/processes.test.ts",
  "examples/vendors.system.test.ts",
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
