/** Adds a key: asks for its permissions, then shows its secret once. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business, CreatedApiKey, Permission } from "../../../platform/http/dashboard/shapes.ts"
import { announce } from "../../shared/parts/announce.ts"
import { Dialog } from "../../shared/parts/Dialog.tsx"
import { useErrors } from "../../shared/parts/errors.ts"
import { Choice, Form, Group } from "../../shared/parts/form.tsx"
import { api } from "../client.ts"
import { useAction } from "../parts/action.ts"
import { DialogActions } from "../parts/DialogActions.tsx"
import { Problem } from "../parts/Problem.tsx"
import { NameField } from "../parts/TextField.tsx"
import { href } from "../router.ts"
import { Addresses, addressesOf } from "./Addresses.tsx"
import { ExpiryFields } from "./ExpiryFields.tsx"
import { DEFAULT_EXPIRY, type Expiry, expiresAt } from "./expiry.ts"
import { KeySecret } from "./KeySecret.tsx"
import { NONE_CHOSEN, Permissions } from "./Permissions.tsx"

interface Errors {
  readonly name?: string
  readonly businesses?: string
  readonly permissions?: string
  readonly expiry?: string
}

export const NewKey = ({
  businesses,
  onClose,
}: {
  readonly businesses: ReadonlyArray<Business>
  readonly onClose: () => void
}): JSX.Element => {
  const [name, setName] = useState("")
  const [restricted, setRestricted] = useState(true)
  const [chosen, setChosen] = useState<ReadonlyArray<string>>([])
  const [permissions, setPermissions] = useState<ReadonlyArray<Permission>>(["start"])
  const [userManagement, setUserManagement] = useState(false)
  const [expiry, setExpiry] = useState<Expiry>(DEFAULT_EXPIRY)
  const [date, setDate] = useState("")
  const [addresses, setAddresses] = useState("")
  const [created, setCreated] = useState<CreatedApiKey>()
  const { busy, failure, run } = useAction()

  const end = expiresAt(expiry, date, Date.now())
  const errors = useErrors<Errors>({
    ...(name.trim() === "" ? { name: "Enter a name." } : {}),
    ...(restricted && chosen.length === 0 ? { businesses: "Select at least one business." } : {}),
    ...(permissions.length === 0 ? { permissions: NONE_CHOSEN } : {}),
    ...(end === undefined ? { expiry: "Choose a future date." } : {}),
  })

  if (created !== undefined) return <KeySecret created={created} onClose={onClose} />

  const submit = (): void => {
    if (!errors.check() || end === undefined) return
    const scope = restricted
      ? ({ type: "Restricted", businessIds: chosen } as const)
      : ({ type: "Unrestricted" } as const)
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
      <Form onSubmit={submit} errors={errors.reported}>
        <NameField
          hint="Where you’ll use the key, for example “Gate, production”."
          error={errors.of("name")}
          maxLength={100}
          value={name}
          onChange={setName}
        />

        <Group label="Business scope" error={errors.of("businesses")}>
          <Choice
            type="radio"
            name="scope"
            label="Restricted"
            hint="Can access only the businesses selected here."
            checked={restricted}
            onChange={() => setRestricted(true)}
          />
          {restricted && (
            <div class="nested">
              {businesses.length === 0 && (
                <p class="small">
                  You don’t have a business yet. <a href={href("businesses")}>Add one first.</a>
                </p>
              )}
              {businesses.map(({ id, name: business }) => (
                <Choice
                  key={id}
                  type="checkbox"
                  label={business}
                  checked={chosen.includes(id)}
                  onChange={({ currentTarget }) =>
                    setChosen(currentTarget.checked ? [...chosen, id] : chosen.filter((each) => each !== id))
                  }
                />
              ))}
            </div>
          )}
          <Choice
            type="radio"
            name="scope"
            label="Unrestricted"
            hint="Can access all your businesses, including ones you add later."
            checked={!restricted}
            onChange={() => setRestricted(false)}
          />
        </Group>

        <Permissions chosen={permissions} error={errors.of("permissions")} onChange={setPermissions} />

        <Group label="User management">
          <Choice
            type="checkbox"
            label="Allow user management requests"
            hint="Applies the permissions to everything under /user: your account, billing, and usage. Leave it off for keys that run agents and calls."
            checked={userManagement}
            onChange={({ currentTarget }) => setUserManagement(currentTarget.checked)}
          />
        </Group>

        <ExpiryFields
          expiry={expiry}
          date={date}
          error={errors.of("expiry")}
          onChange={(wanted, day) => {
            setExpiry(wanted)
            setDate(day)
          }}
        />
        <Addresses typed={addresses} onType={setAddresses} />

        <Problem of={failure} />
        <DialogActions label="Create key" busyLabel="Creating…" busy={busy} onClose={onClose} />
      </Form>
    </Dialog>
  )
}
