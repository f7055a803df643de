/** The addresses from which a key may be used, one a line. */
import type { JSX } from "preact"
import { Field } from "../../shared/parts/form.tsx"

export const Addresses = ({
  typed,
  onType,
}: {
  readonly typed: string
  readonly onType: (typed: string) => void
}): JSX.Element => (
  <Field
    label="Allowed addresses (optional)"
    hint="IP addresses or CIDR ranges, one per line, such as 203.0.113.7 or 2001:db8::/48. Leave empty to allow any."
  >
    {(control) => (
      <textarea
        {...control}
        rows={3}
        autoComplete="off"
        spellcheck={false}
        value={typed}
        onInput={({ currentTarget }) => onType(currentTarget.value)}
      />
    )}
  </Field>
)

export const addressesOf = (typed: string): ReadonlyArray<string> =>
  typed
    .split(/[\s,;]+/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
