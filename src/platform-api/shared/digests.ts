/** Digests with which vendors sign their webhooks and tokens. */
import { createHash, createHmac } from "node:crypto"

type Encoding = "hex" | "base64" | "base64url"

export const sha256 = (text: string, encoding: Encoding): string => createHash("sha256").update(text).digest(encoding)

export const hmacSha256 = (key: string | Buffer, text: string, encoding: Encoding): string =>
  createHmac("sha256", key).update(text).digest(encoding)
