/** The permissions of a key, which narrow what it may do in its businesses: three checkboxes, each with its explanation. */
import type { JSX } from "preact"
import type { Permission } from "../../../../platform/keys/ApiKey.ts"
import { Choice, Group } from "../../../shared/parts/form.tsx"

const CHOICES: ReadonlyArray<{ readonly value: Permission; readonly label: string; readonly hint: string }> = [
  {
    value: "start",
    label: "Start",
    hint: "Start web sessions and calls, and read their status. A gate needs only this.",
  },
  {
    value: "read",
    label: "Read",
    hint: "Read everything in scope: conversations with transcripts, campaigns, and webhooks.",
  },
  {
    value: "manage",
    label: "Manage",
    hint: "Change and delete businesses and web campaigns, including where their webhooks are sent.",
  },
]

export const NONE_CHOSEN = "Select at least one permission."

/** What a new key has: permissions narrow nothing until some are taken away. */
export const ALL_PERMISSIONS: ReadonlyArray<Permission> = CHOICES.map(({ value }) => value)

export const Permissions = ({
  chosen,
  error,
  onChange,
}: {
  readonly chosen: ReadonlyArray<Permission>
  readonly error: string | undefined
  readonly onChange: (chosen: ReadonlyArray<Permission>) => void
}): JSX.Element => (
  <Group label="Permissions" error={error}>
    {CHOICES.map(({ value, label, hint }) => (
      <Choice
        key={value}
        type="checkbox"
        label={label}
        hint={hint}
        checked={chosen.includes(value)}
        onChange={({ currentTarget }) => {
          const ticked = (each: Permission): boolean => (each === value ? currentTarget.checked : chosen.includes(each))
          onChange(CHOICES.map((each) => each.value).filter(ticked))
        }}
      />
    ))}
  </Group>
)

/** Such as `Start, Read`. */
export const namesOf = (permissions: ReadonlyArray<Permission>): string =>
  CHOICES.filter(({ value }) => permissions.includes(value))
    .map(({ label }) => label)
    .join(", ")
