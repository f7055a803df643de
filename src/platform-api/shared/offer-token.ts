/**
 * The token of an `sdp-relay` credential, with which the page makes its offer at the gate, once. Until the session begins, its id is a
 * hash of the token. Every gate on the same store can check an offer's token by it, and the id does not reveal the token.
 *
 * The token begins with `ek_`, like the keys that OpenAI makes for pages: in a browser, OpenAI's SDK accepts no
 * others.
 */
import { randomBytes } from "node:crypto"
import { sha256 } from "./digests.ts"

const TOKEN = /^ek_voicegate_(\d{10,11})_[\w-]{32}$/
const SESSION = /^voicegate-offer-(\d{10,11})-[\w-]{22}$/

/** A new token, which is valid until `untilSeconds` (s since 1970). */
export const newOfferToken = (untilSeconds: number): string =>
  `ek_voicegate_${untilSeconds}_${randomBytes(24).toString("base64url")}`

/** The session that begins with the offer; undefined if no gate has made this token. */
export const sessionOfToken = (token: string): string | undefined => {
  const seconds = TOKEN.exec(token)?.[1]
  return seconds && `voicegate-offer-${seconds}-${sha256(`voicegate ${token}`, "base64url").slice(0, 22)}`
}

/** Until when the offer may be made (ms since 1970); undefined if the session has another name. */
export const offerUntil = (sessionId: string): number | undefined => {
  const seconds = SESSION.exec(sessionId)?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}
