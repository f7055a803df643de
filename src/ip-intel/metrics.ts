/** The metric of lookups at the provider. */
import { Metric } from "effect"
import { SECONDS } from "../lib/duration-metric.ts"

/** Lookups that the provider of IP intelligence was asked for. Cached facts are not counted. */
export const addressLookup = Metric.histogram("voicegate_address_lookup_seconds", {
  description: "How long lookups at the provider of IP intelligence took",
  boundaries: SECONDS,
})
