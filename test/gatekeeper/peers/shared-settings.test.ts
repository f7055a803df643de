/** A new setting of the queue or of its limits is either compared between instances, or listed here with the others that need not be. */
import { assert, it } from "@effect/vitest"
import { makeCampaigns } from "../../../src/gatekeeper/Campaigns.ts"
import { sharedSettingsOf } from "../../../src/gatekeeper/peers/settings-diff.ts"
import { QueueSettings } from "../../../src/settings/groups/queue.ts"
import { SecuritySettings } from "../../../src/settings/groups/security.ts"
import { minimal, treeOf } from "../../settings/support.ts"

/** Each instance applies them to its own requests and connections, or they are secrets. */
const OF_ONE_INSTANCE = {
  Queue: ["MaxTicketBytes"],
  Security: [
    ...["WebhookApiToken", "WebhookSigningSecret", "ConsoleToken"],
    ...["StatusPerMinute", "BlockVpn", "BlockProxy", "BlockTor", "BlockDatacenter", "Shadow"],
    ...["AllowedOrigins", "AllowedHeaders", "TrustedProxies", "ClientAddressHeader"],
  ],
}

it("instances compare every setting of the queue and its limits that they share", () => {
  const tree = treeOf(minimal)
  const compared = Object.keys(sharedSettingsOf(tree, makeCampaigns(tree)))
  const groups = { Queue: QueueSettings.fields, Security: SecuritySettings.fields }
  for (const group of ["Queue", "Security"] as const) {
    const prefix = `${group}.`
    assert.sameMembers(
      compared.filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length)),
      Object.keys(groups[group]).filter((name) => !OF_ONE_INSTANCE[group].includes(name)),
    )
  }
})
