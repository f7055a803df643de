/** Changes the name, the permissions, the expiry and the addresses of an existing key. Its secret stays the same. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { ApiKey } from "../../../platform/http/dashboard/shapes.ts"
import { Dialog } from "../../shared/parts/Dialog.tsx"
import { useErrors } from "../../shared/parts/errors.ts"
import { Form } from "../../shared/parts/form.tsx"
import { api } from "../client.ts"
import { useAction } from "../parts/action.ts"
import { DialogActions } from "../parts/DialogActions.tsx"
import { Problem } from "../parts/Problem.tsx"
import { NameField } from "../parts/TextField.tsx"
import * as words from "../words.ts"
import { Addresses, addressesOf } from "./Addresses.tsx"
import { ExpiryFields } from "./ExpiryFields.tsx"
import { type Expiry, expiresAt } from "./expiry.ts"
import { NONE_CHOSEN, Permissions } from "./Permissions.tsx"

export const EditKey = ({
  of,
  onClose,
  onDone,
}: {
  readonly of: ApiKey
  readonly onClose: () => void
  readonly onDone: (key: ApiKey) => void
}): JSX.Element => {
  const [name, setName] = useState(of.name)
  const [permissions, setPermissions] = useState(of.permissions)
  const [expiry, setExpiry] = useState<Expiry>("keep")
  const [date, setDate] = useState("")
  const [addresses, setAddresses] = useState(of.allowedAddresses.join("\n"))
  const end = expiresAt(expiry, date, Date.now())
  const errors = useErrors<{ readonly name?: string; readonly permissions?: string; readonly expiry?: string }>({
    ...(expiry !== "keep" && end === undefined ? { expiry: "Choose a future date." } : {}),
    ...(name.trim() === "" ? { name: "Enter a name." } : {}),
    ...(permissions.length === 0 ? { permissions: NONE_CHOSEN } : {}),
  })
  const { busy, failure, run } = useAction()
  const submit = (): void => {
    if (!errors.check()) return
    const payload = {
      name: name.trim(),
      permissions,
      allowedAddresses: addressesOf(addresses),
      ...(end === undefined ? {} : { expiresAt: end }),
    }
    void run(api.keys.change({ params: { id: of.id }, payload }), onDone)
  }
  return (
    <Dialog title={`Edit “${of.name}”`} onClose={onClose}>
      <Form onSubmit={submit} errors={errors.reported}>
        <p>The secret stays the same. Changes take effect within 30 seconds.</p>
        <NameField error={errors.of("name")} maxLength={100} value={name} onChange={setName} />
        <Permissions chosen={permissions} error={errors.of("permissions")} onChange={setPermissions} />
        <ExpiryFields
          expiry={expiry}
          date={date}
          error={errors.of("expiry")}
          keep={of.expiresAt === null ? "Never (unchanged)" : `${words.at(of.expiresAt)} (unchanged)`}
          onChange={(wanted, day) => {
            setExpiry(wanted)
            setDate(day)
          }}
        />
        <Addresses typed={addresses} onType={setAddresses} />
        <Problem of={failure} />
        <DialogActions label="Save" busyLabel="Saving…" busy={busy} onClose={onClose} />
      </Form>
    </Dialog>
  )
}
