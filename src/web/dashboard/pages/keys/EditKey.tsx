/** Changes everything about an existing key except its secret. */
import type { JSX } from "preact"
import type { Business } from "../../../../platform/http/dashboard/shapes.ts"
import type { ApiKey } from "../../../../platform/keys/ApiKey.ts"
import { api } from "../../client.ts"
import { useAction } from "../../parts/action.ts"
import * as words from "../../words.ts"
import { KeyForm } from "./KeyForm.tsx"

export const EditKey = ({
  of,
  businesses,
  onClose,
  onDone,
}: {
  readonly of: ApiKey
  readonly businesses: ReadonlyArray<Business>
  readonly onClose: () => void
  readonly onDone: (key: ApiKey) => void
}): JSX.Element => {
  const action = useAction()
  return (
    <KeyForm
      title={`Edit “${of.name}”`}
      start={of}
      startExpiry="keep"
      keep={of.expiresAt === null ? "Keep: never" : `Keep: ${words.at(of.expiresAt)}`}
      businesses={businesses}
      label="Save"
      busyLabel="Saving…"
      action={action}
      onSubmit={({ scope, ...others }) => {
        const payload = { ...others, ...(scope === of.scope ? {} : { scope }) }
        void action.run(api.keys.change({ params: { id: of.id }, payload }), onDone)
      }}
      onClose={onClose}
    >
      <p>The secret stays the same. Changes take effect within 30 seconds.</p>
    </KeyForm>
  )
}
