/** Whether a key has ended, and how. */
import type { JSX } from "preact"
import type { ApiKey } from "../../../../platform/keys/ApiKey.ts"
import { At } from "../../parts/Time.tsx"

/** Whether a key is revoked or has expired. */
export const hasEnded = ({ expiresAt, revokedAt }: ApiKey, now: number): boolean =>
  revokedAt !== null || (expiresAt !== null && expiresAt <= now)

/** How a key that has ended did so. */
export const HowEnded = ({ of }: { readonly of: ApiKey }): JSX.Element =>
  of.revokedAt === null ? (
    <>Expired</>
  ) : (
    <>
      Revoked <At of={of.revokedAt} />
    </>
  )
