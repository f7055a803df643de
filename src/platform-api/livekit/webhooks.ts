/** Authenticates LiveKit's webhooks: a JSON Web Token that names the key it was made with, and the digest of the body. */
import { equal } from "../../lib/equal.ts"
import type { Authentication, VendorWebhook } from "../adapter.ts"
import { sha256 } from "../shared/digests.ts"
import { verifyJwt } from "./jwt.ts"

/** @param key the name of the key: a token that the secret has signed for another name is refused */
export const liveKitAuthentication = (key: string, secret: string): Authentication => {
  /** The digest of the body that the token of a webhook names; undefined if the token is not LiveKit's. */
  const digestIn = (headers: VendorWebhook["headers"], now: number): string | undefined => {
    const claims = verifyJwt(headers.authorization?.replace(/^Bearer /i, "") ?? "", secret, now)
    return claims?.iss === key && typeof claims.sha256 === "string" ? claims.sha256 : undefined
  }
  const refuses = (headers: VendorWebhook["headers"], now: number): string | undefined => {
    if (headers.authorization === undefined) {
      return "authorization: Expected the token with which LiveKit signs its webhooks."
    }
    return digestIn(headers, now) === undefined
      ? "authorization: The token was not made with LiveKit.ApiKey and LiveKit.ApiSecret, or has expired."
      : undefined
  }
  const verify = ({ headers, rawBody }: VendorWebhook, now: number): string | undefined =>
    refuses(headers, now) ??
    (equal(digestIn(headers, now) ?? "", sha256(rawBody, "base64"))
      ? undefined
      : "authorization: The token is for another body than this one.")

  return { proof: `${key} ${secret}`, refuses, verify }
}
