/** The permissions of a key: three checkboxes, each with its explanation. */
import type { JSX } from "preact"
import type { Permission } from "../../../platform/http/dashboard/shapes.ts"
import { Choice, Group } from "../../shared/parts/form.tsx"

const CHOICES: ReadonlyArray<{ readonly value: Permission; readonly label: string; readonly hint: string }> = [
  {
    value: "start",
    label: "Start",
    hint: "Starts web sessions and calls, and reads their state. A gate needs this one and no other.",
  },
  {
    value: "read",
    label: "Read",
    hint: "Reads everything in its scope: conversations with their transcripts, campaigns, webhooks and usage.",
  },
  {
    value: "manage",
    label: "Manage",
    hint: "Changes and deletes businesses and web campaigns, and so also where their webhooks go.",
  },
]

export const NONE_CHOSEN = "Choose at least one permission."

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
