/**
 * Ids of sessions that the gate names itself, because the vendor names none at the start: an unguessable part, and the time at which the
 * credential expires. A credential may be used again until then, so only afterwards can a call prove to be over.
 *
 * That time is a time of day, because the vendor judges the credential by its own clock and the id outlives this process. While this
 * machine's clock is behind, such a call proves to be over later; its lease, which the store's clock ends, holds the slot no longer.
 */
import { randomBytes } from "node:crypto"

const ID = /^voicegate-(\d{10,11})-[\w-]{22}$/

/** @param expiry when the credential expires (s since 1970) */
export const newSessionId = (expiry: number): string => `voicegate-${expiry}-${randomBytes(16).toString("base64url")}`

/** When the credential of a session expires (ms since 1970); undefined if the gate did not name the session. */
export const expiryOf = (id: string): number | undefined => {
  const seconds = ID.exec(id)?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}
