/** An HTTP answer of a platform, before the adapter reads it, and what of it may be shown. */
import { type PlatformError, unavailable } from "../errors.ts"

/** The kind of a call: a failed `start` may have been carried out, a `read` changes nothing. */
export type CallKind = "start" | "read"

export interface Answered {
  readonly status: number
  readonly body: string
  readonly retryAfter: string | undefined
  readonly location?: string | undefined
}

/** A success answer that cannot be used: a start has probably happened. */
export const malformed = (kind: CallKind, message: string): PlatformError =>
  unavailable("malformed", kind === "start", message)

/** How long to wait after a rate limit when the platform sends no Retry-After (ms). */
const RETRY_AFTER_MILLIS = 1_000

/** Reads seconds; `transport.ts` has counted a date from the answer's own `Date`. */
export const retryAfterOf = (header: string | undefined): number =>
  header !== undefined && /^\s*\d{1,6}\s*$/.test(header) ? Number(header) * 1000 : RETRY_AFTER_MILLIS

const MAX_MESSAGE = 300
const MAX_DETAIL = 1_000

/** Without line ends, and without what a terminal would carry out. */
const onOneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")

/** A finding has names of the platform in sentences of the gate: shown on one line, and no longer than anybody reads. */
export const safeDetail = (text: string): string => onOneLine(text.slice(0, MAX_DETAIL))

/** The platform's text, safe to log: bounded, on one line, and without the key, which the platform may have echoed. */
export const safeText = (text: string, secret: string): string =>
  onOneLine((secret === "" ? text : text.replaceAll(secret, "<redacted>")).slice(0, MAX_MESSAGE))
