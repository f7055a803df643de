/** How the time is named that budgets hold for a call: by a hash of its ticket, and the lease of its slot. */
import { shortHash } from "./short-hash.ts"

export const holdName = (ticket: string, lease: string): string => `${shortHash(ticket)}.${lease}`
