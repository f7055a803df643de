/** Authenticates and reads the webhooks of vendors. */
import type { VendorWebhook, WebhookMeaning, Webhooks } from "./adapter.ts"

/** What a webhook is to the gate. */
export type WebhookVerdict =
  | WebhookMeaning
  /** No campaign's key or secret proves it; `reason` says what to change. */
  | { readonly _tag: "refused"; readonly reason: string }
  /** No campaign has this platform, or the platform sends no webhooks. */
  | { readonly _tag: "unexpected" }

const parsed = (text: string): { readonly body: unknown } | undefined => {
  try {
    return { body: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** @param readers those of the platform's campaigns, which may have different keys */
export const readWebhook = (readers: ReadonlyArray<Webhooks>, webhook: VendorWebhook, now: number): WebhookVerdict => {
  let reason: string | undefined
  for (const { ended, verify } of readers) {
    reason = verify(webhook, now)
    if (reason !== undefined) continue
    const json = parsed(webhook.rawBody)
    return json === undefined ? { _tag: "malformed" } : ended(json.body)
  }
  return reason === undefined ? { _tag: "unexpected" } : { _tag: "refused", reason }
}
