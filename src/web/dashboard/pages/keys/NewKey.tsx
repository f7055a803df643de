/** Adds a key: asks for its scope and what may narrow it, then shows its secret once. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business } from "../../../../platform/http/dashboard/shapes.ts"
import type { CreatedApiKey } from "../../../../platform/keys/ApiKey.ts"
import { announceUnseen } from "../../../shared/parts/announce.ts"
import { api } from "../../client.ts"
import { useAction } from "../../parts/action.ts"
import { DEFAULT_EXPIRY } from "./expiry.ts"
import { KeyForm } from "./KeyForm.tsx"
import { KeySecret } from "./KeySecret.tsx"
import { ALL_PERMISSIONS } from "./Permissions.tsx"

const START = {
  name: "",
  scope: { type: "Restricted", businessIds: [] },
  permissions: ALL_PERMISSIONS,
  userManagement: false,
  allowedAddresses: [],
} as const

export const NewKey = ({
  businesses,
  onClose,
}: {
  readonly businesses: ReadonlyArray<Business>
  readonly onClose: () => void
}): JSX.Element => {
  const [created, setCreated] = useState<CreatedApiKey>()
  const action = useAction()
  if (created !== undefined) return <KeySecret created={created} onClose={onClose} />
  return (
    <KeyForm
      title="Create API key"
      start={START}
      startExpiry={DEFAULT_EXPIRY}
      nameHint="Where you’ll use the key, for example “Gate, production”."
      businesses={businesses}
      label="Create key"
      busyLabel="Creating…"
      action={action}
      onSubmit={({ expiresAt = null, ...others }) => {
        void action.run(api.keys.create({ payload: { ...others, expiresAt } }), (answer) => {
          announceUnseen("Key created. Copy its secret now. You won’t see it again.")
          setCreated(answer)
        })
      }}
      onClose={onClose}
    />
  )
}
