/** Changes everything about an existing key except its secret. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { ApiKey, Business } from "../../../platform/http/dashboard/shapes.ts"
import { Dialog } from "../../shared/parts/Dialog.tsx"
import { useErrors } from "../../shared/parts/errors.ts"
import { Form } from "../../shared/parts/form.tsx"
import { api } from "../client.ts"
import { useAction } from "../parts/action.ts"
import { DialogActions } from "../parts/DialogActions.tsx"
import { Problem } from "../parts/Problem.tsx"
import { NameField } from "../parts/TextField.tsx"
import * as words from "../words.ts"
import { Addresses, addressesOf, addressProblem } from "./Addresses.tsx"
import { ExpiryFields } from "./ExpiryFields.tsx"
import { type Expiry, expiresAt } from "./expiry.ts"
import { NONE_CHOSEN, Permissions } from "./Permissions.tsx"
import { isEmpty, NO_BUSINESS, ScopeFields, UserManagement } from "./ScopeFields.tsx"

interface Errors {
  readonly name?: string
  readonly businesses?: string
  readonly permissions?: string
  readonly expiry?: string
  readonly addresses?: string
}

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
  const [name, setName] = useState(of.name)
  const [scope, setScope] = useState(of.scope)
  const [permissions, setPermissions] = useState(of.permissions)
  const [userManagement, setUserManagement] = useState(of.userManagement)
  const [expiry, setExpiry] = useState<Expiry>("keep")
  const [date, setDate] = useState("")
  const [addresses, setAddresses] = useState(of.allowedAddresses.join("\n"))
  const end = expiresAt(expiry, date, Date.now())
  const wrongAddresses = addressProblem(addresses)
  const errors = useErrors<Errors>({
    ...(expiry !== "keep" && end === undefined ? { expiry: "Choose a future date." } : {}),
    ...(name.trim() === "" ? { name: "Enter a name." } : {}),
    ...(scope !== of.scope && isEmpty(scope) ? { businesses: NO_BUSINESS } : {}),
    ...(permissions.length === 0 ? { permissions: NONE_CHOSEN } : {}),
    ...(wrongAddresses === undefined ? {} : { addresses: wrongAddresses }),
  })
  const { busy, failure, run } = useAction()
  const submit = (): void => {
    if (!errors.check()) return
    const payload = {
      name: name.trim(),
      permissions,
      userManagement,
      ...(scope === of.scope ? {} : { scope }),
      allowedAddresses: addressesOf(addresses),
      ...(end === undefined ? {} : { expiresAt: end }),
    }
    void run(api.keys.change({ params: { id: of.id }, payload }), onDone)
  }
  return (
    <Dialog title={`Edit “${of.name}”`} onClose={onClose}>
      <Form onSubmit={submit} errors={failure ?? errors.reported}>
        <p>The secret stays the same. Changes take effect within 30 seconds.</p>
        <NameField
          error={errors.of("name") ?? words.failureAt(failure, "name")}
          maxLength={100}
          value={name}
          onChange={setName}
        />
        <ScopeFields
          businesses={businesses}
          scope={scope}
          error={errors.of("businesses") ?? words.failureAt(failure, "scope")}
          onChange={setScope}
        />
        <Permissions
          chosen={permissions}
          error={errors.of("permissions") ?? words.failureAt(failure, "permissions")}
          onChange={setPermissions}
        />
        <UserManagement allowed={userManagement} onChange={setUserManagement} />
        <ExpiryFields
          expiry={expiry}
          date={date}
          error={errors.of("expiry") ?? words.failureAt(failure, "expiresAt")}
          keep={of.expiresAt === null ? "Never (unchanged)" : `${words.at(of.expiresAt)} (unchanged)`}
          onChange={(wanted, day) => {
            setExpiry(wanted)
            setDate(day)
          }}
        />
        <Addresses
          typed={addresses}
          error={errors.of("addresses") ?? words.failureAt(failure, "allowedAddresses")}
          onType={setAddresses}
        />
        <Problem of={failure} />
        <DialogActions label="Save" busyLabel="Saving…" busy={busy} onClose={onClose} />
      </Form>
    </Dialog>
  )
}
