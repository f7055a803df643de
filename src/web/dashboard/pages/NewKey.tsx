/** Adds a key: asks for its scope and what may narrow it, then shows its secret once. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business, CreatedApiKey, KeyScope } from "../../../platform/http/dashboard/shapes.ts"
import { announce } from "../../shared/parts/announce.ts"
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
import { DEFAULT_EXPIRY, type Expiry, expiresAt } from "./expiry.ts"
import { KeySecret } from "./KeySecret.tsx"
import { ALL_PERMISSIONS, NONE_CHOSEN, Permissions } from "./Permissions.tsx"
import { isEmpty, NO_BUSINESS, ScopeFields, UserManagement } from "./ScopeFields.tsx"

interface Errors {
  readonly name?: string
  readonly businesses?: string
  readonly permissions?: string
  readonly expiry?: string
  readonly addresses?: string
}

export const NewKey = ({
  businesses,
  onClose,
}: {
  readonly businesses: ReadonlyArray<Business>
  readonly onClose: () => void
}): JSX.Element => {
  const [name, setName] = useState("")
  const [scope, setScope] = useState<KeyScope>({ type: "Restricted", businessIds: [] })
  const [permissions, setPermissions] = useState(ALL_PERMISSIONS)
  const [userManagement, setUserManagement] = useState(false)
  const [expiry, setExpiry] = useState<Expiry>(DEFAULT_EXPIRY)
  const [date, setDate] = useState("")
  const [addresses, setAddresses] = useState("")
  const [created, setCreated] = useState<CreatedApiKey>()
  const { busy, failure, run } = useAction()

  const end = expiresAt(expiry, date, Date.now())
  const wrongAddresses = addressProblem(addresses)
  const errors = useErrors<Errors>({
    ...(name.trim() === "" ? { name: "Enter a name." } : {}),
    ...(isEmpty(scope) ? { businesses: NO_BUSINESS } : {}),
    ...(permissions.length === 0 ? { permissions: NONE_CHOSEN } : {}),
    ...(end === undefined ? { expiry: "Choose a future date." } : {}),
    ...(wrongAddresses === undefined ? {} : { addresses: wrongAddresses }),
  })

  if (created !== undefined) return <KeySecret created={created} onClose={onClose} />

  const submit = (): void => {
    if (!errors.check() || end === undefined) return
    const payload = {
      name: name.trim(),
      scope,
      permissions,
      userManagement,
      expiresAt: end,
      allowedAddresses: addressesOf(addresses),
    }
    void run(api.keys.create({ payload }), (answer) => {
      announce("Key created. Copy its secret now. You won’t see it again.")
      setCreated(answer)
    })
  }

  return (
    <Dialog title="Create API key" onClose={onClose}>
      <Form onSubmit={submit} errors={failure ?? errors.reported}>
        <NameField
          hint="Where you’ll use the key, for example “Gate, production”."
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
        <DialogActions label="Create key" busyLabel="Creating…" busy={busy} onClose={onClose} />
      </Form>
    </Dialog>
  )
}
