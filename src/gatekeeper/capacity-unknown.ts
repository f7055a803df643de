/** Why a gate does not start, or does not take new settings. */
import { Schema } from "effect"

/** The slots of a campaign are unknown, because its key may not read them. */
export class CapacityUnknown extends Schema.TaggedError<CapacityUnknown>()("CapacityUnknown", {
  campaign: Schema.String,
  message: Schema.String,
}) {}
