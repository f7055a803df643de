/** What the forms of several steps have: the name of something new, and the buttons below. */
import type { ComponentChildren, JSX } from "preact"
import { Field } from "../../../shared/parts/form.tsx"

export const NameField = ({
  label,
  hint,
  error,
  maxLength,
  value,
  onChange,
}: {
  readonly label: string
  readonly hint: string
  readonly error: string | undefined
  readonly maxLength: number
  readonly value: string
  readonly onChange: (value: string) => void
}): JSX.Element => (
  <Field label={label} hint={hint} error={error}>
    {(control) => (
      <input
        {...control}
        required
        maxLength={maxLength}
        autoComplete="off"
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    )}
  </Field>
)

export const StepActions = ({
  label = "Continue",
  busy,
  busyLabel = "Saving…",
  children,
}: {
  readonly label?: string
  readonly busy: boolean
  readonly busyLabel?: string
  /** further buttons */
  readonly children?: ComponentChildren
}): JSX.Element => (
  <div class="actions">
    <button type="submit" class="primary" aria-disabled={busy}>
      {busy ? busyLabel : label}
    </button>
    {children}
  </div>
)
