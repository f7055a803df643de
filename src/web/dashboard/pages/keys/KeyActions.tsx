/** What can be done with a key: its menu, in the list of keys and on its page, and the dialogs that it opens. */
import type { JSX } from "preact"
import type { Business } from "../../../../platform/http/dashboard/shapes.ts"
import type { ApiKey } from "../../../../platform/keys/ApiKey.ts"
import { api } from "../../client.ts"
import { Confirm } from "../../parts/Confirm.tsx"
import { Menu } from "../../parts/Menu.tsx"
import { notify } from "../../parts/notify.ts"
import { EditKey } from "./EditKey.tsx"
import { RotateKey } from "./RotateKey.tsx"

export type KeyAction = "edit" | "rotate" | "revoke"

export const KeyMenu = ({
  of,
  open,
}: {
  readonly of: ApiKey
  readonly open: (name: KeyAction) => void
}): JSX.Element => (
  <Menu
    of={of.name}
    items={[
      { label: "Edit", name: `Edit ${of.name}`, run: () => open("edit") },
      { label: "Rotate", name: `Rotate ${of.name}`, run: () => open("rotate") },
      { label: "Revoke", name: `Revoke ${of.name}`, run: () => open("revoke"), danger: true },
    ]}
  />
)

export const KeyDialog = ({
  name,
  of,
  businesses,
  now,
  onClose,
  onChanged,
}: {
  readonly name: KeyAction
  readonly of: ApiKey
  readonly businesses: ReadonlyArray<Business>
  readonly now: number
  readonly onClose: () => void
  /** after the key was changed */
  readonly onChanged: () => void
}): JSX.Element => {
  const done = (said: string): void => {
    onClose()
    notify(said)
    onChanged()
  }
  switch (name) {
    case "edit":
      return (
        <EditKey
          of={of}
          businesses={businesses}
          onClose={onClose}
          onDone={(changed) => done(`${changed.name} saved.`)}
        />
      )
    case "rotate":
      return (
        <RotateKey
          of={of}
          now={now}
          onClose={() => {
            onClose()
            onChanged()
          }}
        />
      )
    case "revoke":
      return (
        <Confirm
          title={`Revoke “${of.name}”?`}
          action="Revoke key"
          doing="Revoking…"
          request={() => api.keys.revoke({ params: { id: of.id } })}
          onClose={onClose}
          onDone={() => done(`${of.name} revoked.`)}
        >
          <p>
            Anything that uses <code class="display">{of.display}</code> will be rejected from now on. A revoked key
            can’t be restored.
          </p>
        </Confirm>
      )
  }
}
