/** The settings of the queue. */
import { Schema } from "effect"
import { NETWORK_BITS } from "../../lib/ip/address.ts"
import { withDefault } from "../setting.ts"
import { fraction, oneOf, wholeNumber } from "../values/values.ts"

const seconds = wholeNumber(1, 3600)

export const QueueSettings = Schema.Struct({
  MaxLength: withDefault(wholeNumber(0, 10_000_000), 10_000, {
    shared: true,
    description: "tickets that may wait in a campaign",
  }),
  NetworkShare: withDefault(fraction(0.01), 1, {
    shared: true,
    description: `share of the slots, and of scarce places in the queue, that one network (IPv4 /24, IPv6 /${NETWORK_BITS}) may hold while others want them: 0.01 to 1; with 1, callers are called in the order in which they came, whoever they are`,
    documentation:
      "For a gate under attack. Below 1, a caller of a network that holds its share is passed over while others wait, and [keeps the place](promises.md#fair-shares-of-networks)",
  }),
  DisconnectGraceSeconds: withDefault(seconds, 30, {
    shared: true,
    description: "how long a place is kept after its connection is lost",
  }),
  StartWindowSeconds: withDefault(seconds, 30, {
    shared: true,
    description: "how long a called caller has to start the call; twice as long when the widget's page is hidden",
  }),
  MaxCallMinutes: withDefault(wholeNumber(1, 1440), 30, {
    shared: true,
    description:
      "the longest call: in its last minute the gate ends it where the platform can end calls; after that, its slot is reclaimed",
    documentation:
      "A caller who says nothing holds the slot for so long, where neither `SilenceSeconds` nor the vendor ends a silent call. Raise it to what your longest calls need",
  }),
  OpenSeconds: withDefault(wholeNumber(0, 3600), 0, {
    shared: true,
    description:
      "how long a started session may run before somebody has opened it; then the gate ends it; 0 for no limit",
    documentation:
      "Acts where the platform says that nobody has joined a session and can end it: the local platform, Retell, Ultravox, and a host's own platform whose `sessionStatus` has `opened`. It is looked at every 5 s. The turn counts as missed",
  }),
  OnPlatformRefusal: withDefault(oneOf(["wait", "refuse"]), "wait", {
    shared: true,
    description:
      "`wait` or `refuse`: what happens to new callers while the platform refuses what the operator must mend, such as the key",
    documentation: "Callers who wait keep their places in either case",
  }),
  MaxTicketBytes: withDefault(wholeNumber(256, 65_536), 8192, {
    description:
      "the largest total size of a request's `dynamicVariables`, `metadata` and `clientIdentifier`, in bytes of UTF-8",
    documentation: "A waiting ticket keeps them in Redis: 10,000 tickets of 8 KiB are about 90 MB",
  }),
})
