/** Schemas of secret values, which are never shown. */
import { type Redacted, Result, Schema } from "effect"
import { parseConnectionString } from "../../store/connection-string.ts"
import { jsonText, pattern, type Text } from "./values.ts"

const secret = (expected: string, schema: Text<string>): Text<Redacted.Redacted<string>> =>
  Schema.RedactedFromValue(schema).annotate({ expected, voicegate: { secret: true } })

/** The platform's key alone: a pasted `Token …` is refused because of its space. */
export const platformKey = secret("the platform's API key alone, without spaces", pattern(/^[\x21-\x7e]{1,4096}$/u))

export const webhookToken = secret(
  "a token of at least 16 characters, without spaces; several as a list; whsec_… belongs in Security.WebhookSigningSecret",
  pattern(/^(?!whsec_)[\x21-\x7e]{16,1024}$/u),
)

export const consoleToken = secret(
  "a token of at least 16 characters, without spaces; several as a list",
  pattern(/^[\x21-\x7e]{16,1024}$/u),
)

export const budgetToken = secret(
  "a token of at least 16 characters, without spaces; several as a list",
  pattern(/^(?!whsec_)[\x21-\x7e]{16,1024}$/u),
)

/** The key of HS256: its bytes are those of the text, of which RFC 7518 §3.2 requires 32. */
export const identitySecret = secret(
  "a secret of at least 32 characters, without spaces, such as voicegate token identity-secret prints; several as a list",
  pattern(/^(?!whsec_)[\x21-\x7e]{32,1024}$/u),
)

export const eventsToken = secret(
  "a token of at least 16 characters, without spaces; several as a list; whsec_… belongs in Events.Secrets",
  pattern(/^(?!whsec_)[\x21-\x7e]{16,1024}$/u),
)

/** Standard Webhooks 1.0: 24 to 64 bytes. */
export const signingSecret = secret(
  "whsec_ and the base64 of 24 to 64 bytes; several as a list",
  Schema.String.check(
    Schema.makeFilter((given) => {
      const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(given)?.[1]
      if (base64 === undefined || base64.length % 4 === 1) return false
      const bytes = Buffer.from(base64, "base64")
      const canonical = bytes.toString("base64").replaceAll("=", "") === base64.replaceAll("=", "")
      return canonical && bytes.length >= 24 && bytes.length <= 64
    }),
  ),
)

/** One header with its value, which may be a key. */
export const headerLine = secret(
  "a header such as Authorization: Bearer key; one a list item",
  pattern(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}:\s*[\x20-\x7e]{1,4096}$/u),
)

/** JSON, written as a text. Any value in it may be a key. */
export const secretJson = secret("JSON in a string of at most 4096 characters", jsonText)

export const providerKey = secret(
  "a key or secret of ASCII characters, without spaces",
  pattern(/^[\x21-\x7e]{1,4096}$/u),
)

/**
 * A key whose bytes a vendor gives in base64. Node decodes other text without an error, perhaps to no byte at all, and
 * anybody could sign with an empty key.
 */
export const base64Key = secret("base64 of at least 8 bytes", pattern(/^[\w+/-]{11,4096}={0,2}$/u))

/** Any form that `parseConnectionString` accepts; otherwise its message says what is expected. */
export const connectionString = secret(
  "a connection string",
  Schema.String.check(
    Schema.makeFilter((given) => {
      const read = parseConnectionString(given)
      return Result.isSuccess(read) || read.failure
    }),
  ),
)
