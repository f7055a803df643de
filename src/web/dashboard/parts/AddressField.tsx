/** A field for the web address of a gate or of a website. */
import type { JSX } from "preact"
import { Field } from "../../shared/parts/form.tsx"

interface AddressFieldProps {
  readonly label: string
  readonly hint?: string
  readonly error: string | undefined
  /** an address as an example */
  readonly placeholder: string
  readonly value: string
  readonly onChange: (value: string) => void
}

export const AddressField = ({ error, hint, label, onChange, placeholder, value }: AddressFieldProps): JSX.Element => (
  <Field label={label} error={error} {...(hint === undefined ? {} : { hint })}>
    {(control) => (
      <input
        {...control}
        inputMode="url"
        autoComplete="off"
        spellcheck={false}
        placeholder={placeholder}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    )}
  </Field>
)
