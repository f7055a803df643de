/** Fields of one line of text. */
import type { JSX } from "preact"
import { Field } from "../../shared/parts/form.tsx"

interface TextFieldProps {
  readonly inputMode?: "numeric" | "url"
  readonly maxLength?: number
  readonly placeholder?: string
  readonly required?: boolean
  readonly label: string
  readonly hint?: string | undefined
  readonly error?: string | undefined
  /** whether it is checked for spelling, such as a name */
  readonly spellcheck?: boolean
  readonly value: string
  readonly onChange: (value: string) => void
}

export const TextField = ({
  error,
  hint,
  label,
  onChange,
  spellcheck = false,
  value,
  ...input
}: TextFieldProps): JSX.Element => (
  <Field label={label} hint={hint} error={error}>
    {(control) => (
      <input
        {...control}
        {...input}
        autoComplete="off"
        spellcheck={spellcheck}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    )}
  </Field>
)

/** The name of something, which is required. */
export const NameField = ({
  label = "Name",
  maxLength = 256,
  ...field
}: Pick<TextFieldProps, "error" | "hint" | "maxLength" | "onChange" | "value"> & {
  readonly label?: string
}): JSX.Element => <TextField {...field} label={label} maxLength={maxLength} required spellcheck />
