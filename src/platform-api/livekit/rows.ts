import type { VendorRows } from "../rows.ts"

export const rows: VendorRows = {
  sdk: "`livekit-client`",
  credential: "`url+token`, made by the gate",
  opens: "its own room, again until it expires",
  validFor: "the start window",
  end: "`room_finished`, 10 s after the caller has left; not before the token has expired",
  signature: "JWT of the API key, with the body's digest",
  lostWebhook: "noticed within five minutes",
  endedByGate: "`DeleteRoom`",
  longestCall: "ended by the gate",
  atCapacity: "the server refuses the page, and the gate does not learn it [?]",
  headOfQueue: "no refusal at the start",
  slots: "`MaxConcurrency` is required",
  unconfirmed: "cannot happen",
  control: "*endable*, and ended by the gate at its longest time",
  silence: "the widget",
  lookedAt: "2026-11-26",
  sources: "`livekit-server-sdk` 2.19.2, `livekit-client` 2.23.0, `@livekit/protocol` (`RoomAgentDispatch`)",
}
