/** The two dimensions of a key: the businesses that it can access, and whether it may manage users. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business } from "../../../../platform/http/dashboard/shapes.ts"
import type { KeyScope } from "../../../../platform/keys/ApiKey.ts"
import { Choice, Group } from "../../../shared/parts/form.tsx"
import { href } from "../../router.ts"

export const NO_BUSINESS = "Select at least one business."

/** A restricted key without a business is refused. */
export const isEmpty = (scope: KeyScope): boolean => scope.type === "Restricted" && scope.businessIds.length === 0

export const ScopeFields = ({
  businesses,
  scope,
  error,
  onChange,
}: {
  readonly businesses: ReadonlyArray<Business>
  readonly scope: KeyScope
  readonly error: string | undefined
  readonly onChange: (scope: KeyScope) => void
}): JSX.Element => {
  const restricted = scope.type === "Restricted"
  // kept, so that going back to Restricted shows them ticked again
  const [kept, setKept] = useState(restricted ? scope.businessIds : [])
  const choose = (businessIds: ReadonlyArray<string>): void => {
    setKept(businessIds)
    onChange({ type: "Restricted", businessIds })
  }
  return (
    <Group label="Business scope" error={error}>
      <Choice
        type="radio"
        name="scope"
        label="Restricted"
        hint="Can access only the businesses selected here."
        checked={restricted}
        onChange={() => choose(kept)}
      />
      {restricted && (
        <div class="nested">
          {businesses.length === 0 && (
            <p class="small">
              You don’t have a business yet. <a href={href("businesses")}>Add one first.</a>
            </p>
          )}
          {businesses.map(({ id, name }) => (
            <Choice
              key={id}
              type="checkbox"
              label={name}
              checked={kept.includes(id)}
              onChange={({ currentTarget }) =>
                choose(currentTarget.checked ? [...kept, id] : kept.filter((each) => each !== id))
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
        onChange={() => onChange({ type: "Unrestricted" })}
      />
    </Group>
  )
}

export const UserManagement = ({
  allowed,
  onChange,
}: {
  readonly allowed: boolean
  readonly onChange: (allowed: boolean) => void
}): JSX.Element => (
  <Group label="User management">
    <Choice
      type="checkbox"
      label="Allow user management requests"
      hint="Opens everything under /user: your account, billing, and usage. Permissions don’t narrow it. Leave it off for keys that run agents and calls."
      checked={allowed}
      onChange={({ currentTarget }) => onChange(currentTarget.checked)}
    />
  </Group>
)
