/** The businesses that a key is restricted to, or that it is not. */
import type { JSX } from "preact"
import type { Business } from "../../../../platform/http/dashboard/shapes.ts"
import type { ApiKey } from "../../../../platform/keys/ApiKey.ts"

export const KeyScope = ({
  of,
  businesses,
}: {
  readonly of: ApiKey
  readonly businesses: ReadonlyArray<Business>
}): JSX.Element => {
  if (of.scope.type === "Unrestricted") return <>All businesses</>
  const { businessIds } = of.scope
  if (businessIds.length === 0) return <>None: its businesses were deleted</>
  const names = businessIds.map((id) => businesses.find((business) => business.id === id)?.name ?? id).join(", ")
  return <span title={names}>{names}</span>
}
