/**
 * What the outbox keeps of an attempt, for the owner of the campaign: what was sent, without the values of its secrets, and what was
 * answered. An answer that repeats a secret is masked too.
 */
import { Redacted } from "effect"
import type { WebhookTarget } from "../model.ts"
import { toLines } from "../text.ts"

/** How much of an answer's body is kept, in bytes. */
export const MAX_ANSWER_BYTES = 4_096
/** How many attempts of a message are kept: the last ones. */
export const MAX_ATTEMPTS_KEPT = 10
/** Stands for the value of a secret. */
export const MASK = "••••••••"

export interface Attempt {
  /** when it started, in milliseconds since 1970 */
  readonly at: number
  /** until the end of the answer, or of what was read of it, in milliseconds */
  readonly durationMillis: number
  readonly url: string
  /** masked */
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
  /** null when there was no answer */
  readonly status: number | null
  /** why there was no answer, such as `ECONNREFUSED`; null when there was one */
  readonly error: string | null
  /** the first `MAX_ANSWER_BYTES` of the body as text, masked; null when there was no answer */
  readonly answer: string | null
  /** whether the body was longer */
  readonly truncated: boolean
}

/** Custom values and the signature are masked. */
export const keptHeaders = (
  target: WebhookTarget,
  own: Readonly<Record<string, string>>,
): ReadonlyArray<readonly [string, string]> => [
  ...Object.keys(target.headers).map((name) => [name, MASK] as const),
  ...Object.entries(own).map(([name, value]) => [name, name === "webhook-signature" ? MASK : value] as const),
]

/** The shortest part of a secret that is masked alone; shorter ones also occur by chance. */
const MIN_PART = 6
/** Limit of such parts of one value. */
const MAX_PARTS = 8

/**
 * A secret and its parts that are secrets on their own, as receivers repeat them: the token without `Bearer`, the key without `whsec_`, a
 * quoted value without its quotes, and what the text becomes in JSON or in a URL.
 */
const formsOf = (secret: string): ReadonlyArray<string> =>
  [
    secret,
    ...secret
      .split(/[\s:,;="]+|^whsec_/)
      .filter((part) => part.length >= MIN_PART)
      .slice(0, MAX_PARTS),
  ].flatMap((text) => [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)])

const secretsOf = ({ headers, signingSecret }: WebhookTarget): ReadonlyArray<string> => {
  const values = [...Object.values(headers), ...(signingSecret === undefined ? [] : [signingSecret])]
  return (
    [...new Set(values.flatMap((value) => formsOf(Redacted.value(value))))]
      // the longest first, so that one that contains another is masked as a whole
      .toSorted((left, right) => right.length - left.length)
  )
}

/** Removes the start of a secret at the end of a text that was cut there. */
const withoutCutSecret = (text: string, secrets: ReadonlyArray<string>): string => {
  const cut = Math.max(
    0,
    ...secrets.map((secret) => {
      let length = Math.min(secret.length - 1, text.length)
      while (length > 0 && !text.endsWith(secret.slice(0, length))) length--
      return length
    }),
  )
  return text.slice(0, text.length - cut)
}

/**
 * The text of an answer as it is kept, at most `MAX_ANSWER_BYTES` characters.
 *
 * @param truncated whether the bytes are only the start of the answer, which may then end within a secret
 */
export const keptAnswer = (target: WebhookTarget, bytes: Uint8Array, truncated: boolean): string => {
  const secrets = secretsOf(target)
  // a character that was cut is left out
  const text = new TextDecoder().decode(bytes, { stream: truncated })
  const masked = secrets.reduce((rest, secret) => rest.replaceAll(secret, MASK), text)
  // the mask is longer than a short secret
  return toLines(truncated ? withoutCutSecret(masked, secrets) : masked).slice(0, MAX_ANSWER_BYTES)
}
