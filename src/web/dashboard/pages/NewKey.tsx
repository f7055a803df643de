/** Adds a key: asks for its permissions, then shows its secret once. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business, CreatedApiKey, Permission } from "../../../platform/http/dashboard/shapes.ts"
import { announce } from "../../shared/parts/announce.ts"
import { Dialog } from "../../shared/parts/Dialog.tsx"
import { Choice, Field, Form, Group } from "../../shared/parts/form.tsx"
import { api } from "../client.ts"
import { useAction } from "../parts/action.ts"
import { Problem } from "../parts/Problem.tsx"
import { href } from "../router.ts"
import { EXPIRIES, type Expiry, expiresAt } from "./expiry.ts"
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
  const [expiry, setExpiry] = useState<Expiry>("never")
  const [date, setDate] = useState("")
  const [errors, setErrors] = useState<Errors>({})
  const [created, setCreated] = useState<CreatedApiKey>()
  const { busy, failure, run } = useAction()

  if (created !== undefined) return <KeySecret created={created} onClose={onClose} />

  const submit = (): void => {
    const end = expiresAt(expiry, date, Date.now())
    const found: Errors = {
      ...(name.trim() === "" ? { name: "Enter a name." } : {}),
      ...(restricted && chosen.length === 0
        ? {
            businesses:
              "A restricted key needs at least one business. Restricted to none is not the same as unrestricted.",
          }
        : {}),
      ...(permissions.length === 0 ? { permissions: NONE_CHOSEN } : {}),
      ...(end === undefined ? { expiry: "Choose a day to come." } : {}),
    }
    setErrors(found)
    if (Object.keys(found).length > 0 || end === undefined) return
    const scope = restricted
      ? ({ type: "Restricted", businessIds: chosen } as const)
      : ({ type: "Unrestricted" } as const)
    const payload = { name: name.trim(), scope, permissions, userManagement, expiresAt: end }
    void run(api.keys.create({ payload }), (answer) => {
      announce("The key is made. Copy its secret now: you will not see it again.")
      setCreated(answer)
    })
  }

  return (
    <Dialog title="Add API key" onClose={onClose}>
      <Form onSubmit={submit} errors={errors}>
        <Field label="Name" hint="What uses the key, such as “Gate, production”." error={errors.name}>
          {(control) => (
            <input
              {...control}
              required
              maxLength={100}
              autoComplete="off"
              value={name}
              onInput={(event) => setName(event.currentTarget.value)}
            />
          )}
        </Field>

        <Group label="Business scope" error={errors.businesses}>
          <Choice
            type="radio"
            name="scope"
            label="Restricted"
            hint="Reaches the businesses ticked here, and no other."
            checked={restricted}
            onChange={() => setRestricted(true)}
          />
          {restricted && (
            <div class="nested">
              {businesses.length === 0 && (
                <p class="small">
                  There is no business yet. <a href={href("businesses")}>Add one first.</a>
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
            hint="Reaches all of your businesses, also those that are still to come."
            checked={!restricted}
            onChange={() => setRestricted(false)}
          />
        </Group>

        <Permissions chosen={permissions} error={errors.permissions} onChange={setPermissions} />

        <Group label="User management">
          <Choice
            type="checkbox"
            label="Allow user management requests"
            hint="Extends the permissions to everything at and below /user: your account, its billing and its usage. Leave it off for keys that run agents and calls."
            checked={userManagement}
            onChange={({ currentTarget }) => setUserManagement(currentTarget.checked)}
          />
        </Group>

        <Field label="Expires" error={expiry === "date" ? undefined : errors.expiry}>
          {(control) => (
            <select
              {...control}
              value={expiry}
              onChange={({ currentTarget }) => {
                const picked = EXPIRIES.find(({ value }) => value === currentTarget.value)
                if (picked !== undefined) setExpiry(picked.value)
              }}
            >
              {EXPIRIES.map(({ value, label }) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
        {expiry === "date" && (
          <Field label="Last day" error={errors.expiry}>
            {(control) => (
              <input {...control} type="date" value={date} onInput={(event) => setDate(event.currentTarget.value)} />
            )}
          </Field>
        )}

        <Problem of={failure} />
        <div class="actions">
          <button type="submit" class="primary" aria-disabled={busy}>
            {busy ? "Making the key …" : "Make the key"}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </Form>
    </Dialog>
  )
}
