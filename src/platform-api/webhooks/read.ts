/** Authenticates and reads the webhooks of vendors. */
import type { VendorWebhook, WebhookMeaning, Webhooks } from "../adapter.ts"

/** How the webhooks of one campaign are authenticated and read. */
export interface WebhookReader extends Webhooks {
  /** the campaign's name */
  readonly campaign: string
}

/** How the gate judges a webhook. */
export type WebhookVerdict =
  | Exclude<WebhookMeaning, { readonly _tag: "ended" | "began" | "spoke" }>
  | (Extract<WebhookMeaning, { readonly _tag: "ended" }> & {
      /** The campaigns whose key it was made with: it ends only their sessions. Absent: sessions of any campaign. */
      readonly campaigns?: ReadonlyArray<string>
    })
  | (Extract<WebhookMeaning, { readonly _tag: "began" | "spoke" }> & { readonly campaigns: ReadonlyArray<string> })
  /** It was made with no campaign's key or secret; `reason` says what to change. */
  | { readonly _tag: "refused"; readonly reason: string }
  /** No campaign has this platform, or the platform sends no webhooks. */
  | { readonly _tag: "unexpected" }

/** The verdicts that need no body. */
export type UnreadVerdict = Extract<WebhookVerdict, { readonly _tag: "refused" | "unexpected" }>

/**
 * Why a webhook with these headers is refused whatever its body is, which is then not read: anyone can send a large one. Undefined if the
 * body must be read.
 */
export const refuseUnread = (
  readers: ReadonlyArray<WebhookReader>,
  headers: VendorWebhook["headers"],
  now: number,
): UnreadVerdict | undefined => {
  const refusals = readers.map(({ refuses }) => refuses?.(headers, now))
  if (refusals.includes(undefined)) return undefined
  const reason = refusals.at(-1)
  return reason === undefined ? { _tag: "unexpected" } : { _tag: "refused", reason }
}

/** Checks each key once: checking the signature of a large body is what costs most. */
const verifyOnce = (webhook: VendorWebhook, now: number): ((reader: WebhookReader) => string | undefined) => {
  const verdicts = new Map<string, string | undefined>()
  return ({ proof, verify }) => {
    if (proof === undefined) return verify(webhook, now)
    if (!verdicts.has(proof)) verdicts.set(proof, verify(webhook, now))
    return verdicts.get(proof)
  }
}

const parsed = (text: string): { readonly body: unknown } | undefined => {
  try {
    return { body: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/**
 * Reads a webhook. Campaigns may share a key, and the webhook may be about any campaign with the key it was made
 * with, so each of them reads it.
 *
 * @param readers those of the platform's campaigns
 */
export const readWebhook = (
  readers: ReadonlyArray<WebhookReader>,
  webhook: VendorWebhook,
  now: number,
): WebhookVerdict => {
  let reason: string | undefined
  const refusalOf = verifyOnce(webhook, now)
  const authentic = readers.filter((reader) => {
    const refusal = refusalOf(reader)
    reason = refusal ?? reason
    return refusal === undefined
  })
  if (authentic.length === 0) return reason === undefined ? { _tag: "unexpected" } : { _tag: "refused", reason }
  const json = parsed(webhook.rawBody)
  if (json === undefined) return { _tag: "malformed" }
  const meanings = authentic.map(({ campaign, ended }) => ({ campaign, meaning: ended(json.body) }))
  const ends = meanings.flatMap(({ campaign, meaning }) => (meaning._tag === "ended" ? [{ campaign, meaning }] : []))
  const [first] = ends
  if (first !== undefined) {
    const sessions = new Map(ends.flatMap(({ meaning }) => meaning.sessions).map((ids) => [ids.join(" "), ids]))
    return { ...first.meaning, sessions: [...sessions.values()], campaigns: ends.map(({ campaign }) => campaign) }
  }
  const begun = meanings.flatMap(({ campaign, meaning }) => (meaning._tag === "began" ? [{ campaign, meaning }] : []))
  if (begun[0] !== undefined) return { ...begun[0].meaning, campaigns: begun.map(({ campaign }) => campaign) }
  const spoken = meanings.flatMap(({ campaign, meaning }) => (meaning._tag === "spoke" ? [{ campaign, meaning }] : []))
  if (spoken[0] !== undefined) return { ...spoken[0].meaning, campaigns: spoken.map(({ campaign }) => campaign) }
  const ignored = meanings.flatMap(({ meaning }) => (meaning._tag === "ignored" ? [meaning.because] : []))
  if (ignored.length === 0) return { _tag: "malformed" }
  // a session of one campaign is another's for the others
  return { _tag: "ignored", because: ignored.includes("other_event") ? "other_event" : "other_session" }
}
