/**
 * Begins with the test files that take longest, so that none of them is left for the end, when the other workers have nothing to do.
 * Vitest alone knows this from the run before, of which a clean clone has none.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node"

/**
 * Each takes some twenty seconds or more. Those that mostly wait take turns with those that work, of both the longest first: so there is work
 * for both cores from the first to the last. No unit test is among them: between two projects a worker ends, and the next one loads all modules
 * and starts a browser again. Another file may be added, and none has to be.
 */
const LONG = [
  "e2e/changed-settings.test.ts",
  "package/package.system.test.ts",
  "chaos/chaos.test.ts",
  "contract/queue.test.ts",
  "web/widget/call/silence.test.ts",
  "web/widget/element/states.test.ts",
  "e2e/outages.test.ts",
  "web/widget/waiting/queue.test.ts",
  "e2e/deadlines.test.ts",
  "web/widget/call/call.test.ts",
  "e2e/held-upgrade.test.ts",
  "web/widget/call/deaf.test.ts",
  "web/widget/call/length.test.ts",
  "web/widget/element/embed.test.ts",
  "e2e/length-kills.test.ts",
  "e2e/shutdown-starts.test.ts",
  "e2e/platform-outages.test.ts",
  "web/widget/visit/refusals.test.ts",
  "e2e/accounts.test.ts",
  "examples/examples.system.test.ts",
  "e2e/events.test.ts",
  "web/vendors/widget-vendors.test.ts",
  "contract/budget-waits.test.ts",
  "web/widget/call/conversation.test.ts",
  "e2e/failures.test.ts",
  "simulation/redis.test.ts",
  "e2e/counters.test.ts",
  "web/widget/element/floating.test.ts",
  "store/redis/half-way.system.test.ts",
  "web/dashboard/pages.test.ts",
  "store/redis/wrong-server.system.test.ts",
  "web/dashboard/setup.test.ts",
  "e2e/control-upgrade.test.ts",
  "web/widget/extras/handoff.test.ts",
  "store/redis/failover.system.test.ts",
  "contract/budgets.test.ts",
  "e2e/stranded.test.ts",
  "contract/hours-and-offers.test.ts",
  "e2e/round-trips.test.ts",
  "e2e/deploy.test.ts",
  "e2e/under-load.test.ts",
  "web/widget/element/appearance.test.ts",
  "e2e/control-commands.test.ts",
  "simulation/simulation.test.ts",
  "e2e/planned-stops.test.ts",
  "web/console/serial.test.ts",
  "e2e/topologies.test.ts",
  "contract/identity.test.ts",
  "platform/data/database.system.test.ts",
  "e2e/traces.test.ts",
  "e2e/rolling-upgrade.test.ts",
  "examples/frameworks.system.test.ts",
  "web/vendors/demo-vendor.test.ts",
  "contract/differential-faults.test.ts",
  "web/console/actions.test.ts",
  "e2e/command-line.test.ts",
  "contract/forget.test.ts",
  "web/widget/waiting/turn.test.ts",
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
