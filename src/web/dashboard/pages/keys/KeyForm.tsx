/** The form for all that can be chosen about a key: for a new one, and to change one. */
import type { ComponentChildren, JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business } from "../../../../platform/http/dashboard/shapes.ts"
import type { KeyScope, Permission } from "../../../../platform/keys/ApiKey.ts"
import { Dialog } from "../../../shared/parts/Dialog.tsx"
import { useErrors } from "../../../shared/parts/errors.ts"
import { Form } from "../../../shared/parts/form.tsx"
import type { Action } from "../../parts/action.ts"
import { DialogActions } from "../../parts/DialogActions.tsx"
import { Problem } from "../../parts/Problem.tsx"
import { NameField } from "../../parts/TextField.tsx"
import * as words from "../../words.ts"
import { Addresses, addressesOf, addressProblem } from "./Addresses.tsx"
import { ExpiryFields } from "./ExpiryFields.tsx"
import { type Expiry, expiresAt } from "./expiry.ts"
import { NONE_CHOSEN, Permissions } from "./Permissions.tsx"
import { isEmpty, NO_BUSINESS, ScopeFields, UserManagement } from "./ScopeFields.tsx"

interface Choices {
  readonly name: string
  readonly scope: KeyScope
  readonly permissions: ReadonlyArray<Permission>
  readonly userManagement: boolean
  readonly allowedAddresses: ReadonlyArray<string>
}

/** What was chosen; `scope` is the given object when nobody has touched it. */
export interface KeyInput extends Choices {
  /** milliseconds since 1970, or null for never; absent when the present expiry stays, which only `keep` offers */
  readonly expiresAt?: number | null
}

interface Errors {
  readonly name?: string
  readonly businesses?: string
  readonly permissions?: string
  readonly expiry?: string
  readonly addresses?: string
}

export const KeyForm = ({
  action: { busy, failure },
  businesses,
  busyLabel,
  children,
  keep,
  label,
  nameHint,
  onClose,
  onSubmit,
  startExpiry,
  start,
  title,
}: {
  readonly action: Action
  readonly businesses: ReadonlyArray<Business>
  readonly busyLabel: string
  /** said before the fields */
  readonly children?: ComponentChildren
  /** the present expiry, for a key that exists: it may stay, and so may a scope whose businesses are all deleted */
  readonly keep?: string
  readonly label: string
  readonly nameHint?: string
  readonly onClose: () => void
  readonly onSubmit: (input: KeyInput) => void
  readonly startExpiry: Expiry
  readonly start: Choices
  readonly title: string
}): JSX.Element => {
  const [name, setName] = useState(start.name)
  const [scope, setScope] = useState(start.scope)
  const [permissions, setPermissions] = useState(start.permissions)
  const [userManagement, setUserManagement] = useState(start.userManagement)
  const [expiry, setExpiry] = useState(startExpiry)
  const [date, setDate] = useState("")
  const [addresses, setAddresses] = useState(start.allowedAddresses.join("\n"))
  const end = expiresAt(expiry, date, Date.now())
  const wrongAddresses = addressProblem(addresses)
  const scopeStays = keep !== undefined && scope === start.scope
  const errors = useErrors<Errors>({
    ...(name.trim() === "" ? { name: "Enter a name." } : {}),
    ...(!scopeStays && isEmpty(scope) ? { businesses: NO_BUSINESS } : {}),
    ...(permissions.length === 0 ? { permissions: NONE_CHOSEN } : {}),
    ...(expiry !== "keep" && end === undefined ? { expiry: "Choose a future date." } : {}),
    ...(wrongAddresses === undefined ? {} : { addresses: wrongAddresses }),
  })
  const submit = (): void => {
    if (!errors.check()) return
    onSubmit({
      name: name.trim(),
      scope,
      permissions,
      userManagement,
      allowedAddresses: addressesOf(addresses),
      ...(end === undefined ? {} : { expiresAt: end }),
    })
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <Form onSubmit={submit} errors={failure ?? errors.reported}>
        {children}
        <NameField
          {...(nameHint === undefined ? {} : { hint: nameHint })}
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
          {...(keep === undefined ? {} : { keep })}
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
        <DialogActions label={label} busyLabel={busyLabel} busy={busy} onClose={onClose} />
      </Form>
    </Dialog>
  )
}
