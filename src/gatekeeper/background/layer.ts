/** The background tasks. They start in this order and stop together; then the store is told that this gate has stopped. */
import { Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as DeliverEvents from "../../events/deliver.ts"
import * as EventLog from "../../events/EventLog.ts"
import * as CheckOpened from "../calls/check-opened.ts"
import * as Doubts from "../calls/doubts.ts"
import * as EndDue from "../calls/end-due.ts"
import * as HoldTime from "../calls/hold-time.ts"
import * as Lengths from "../calls/lengths.ts"
import * as Unpaid from "../calls/unpaid.ts"
import * as Capacity from "../capacity/Capacity.ts"
import * as DrainRemoved from "../peers/drain-removed.ts"
import * as Peers from "../peers/Peers.ts"
import * as Audit from "./audit.ts"
import * as Heartbeat from "./heartbeat.ts"
import * as Repair from "./repair.ts"
import * as StoreOutage from "./StoreOutage.ts"
import * as Sweep from "./sweep.ts"
import * as Unregister from "./unregister.ts"

const events = Layer.mergeAll(DeliverEvents.layer, DrainRemoved.layer).pipe(
  Layer.provide([EventLog.layer, FetchHttpClient.layer]),
)

export const layer = Layer.mergeAll(
  Peers.renewals,
  Sweep.layer,
  Repair.layer,
  Heartbeat.layer,
  Audit.layer,
  Doubts.layer,
  CheckOpened.layer,
  EndDue.layer,
  Lengths.layer,
  HoldTime.layer,
  Unpaid.layer,
  Capacity.poll,
  events,
).pipe(Layer.provideMerge(StoreOutage.layer), Layer.provide(Unregister.layer))
