/** The names of a campaign's keys in the store; `rules/keys.ts` describes their contents. */

const NAMES: ReadonlyArray<string> = [
  ...["meta", "tickets", "data", "waiting", "presence", "leases", "sessions", "endedSessions"],
  ...["forget", "settlements", "passed", "networks", "parked", "gates", "quarantine", "auditLog", "ending"],
]

/**
 * All keys of a campaign, under one hash tag; a brace in its id cannot break out of the tag. The number is the version
 * of the record format.
 */
export const keysOf = (campaign: string): ReadonlyArray<string> => {
  const tag = `vg:2:{${encodeURIComponent(campaign)}}:`
  return NAMES.map((name) => tag + name)
}

/** Where a campaign's invalid records are kept. */
export const quarantineKeyOf = (campaign: string): string => keysOf(campaign)[NAMES.indexOf("quarantine")] ?? ""
