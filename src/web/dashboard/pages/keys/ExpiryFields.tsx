/** When a key expires: a span or a date. */
import type { JSX } from "preact"
import { Field } from "../../../shared/parts/form.tsx"
import { EXPIRIES, type Expiry } from "./expiry.ts"

export const ExpiryFields = ({
  expiry,
  date,
  error,
  keep,
  onChange,
}: {
  readonly expiry: Expiry
  readonly date: string
  readonly error: string | undefined
  /** the label of the choice that changes nothing; absent for a new key */
  readonly keep?: string
  readonly onChange: (expiry: Expiry, date: string) => void
}): JSX.Element => {
  const options = keep === undefined ? EXPIRIES : [{ value: "keep" as const, label: keep }, ...EXPIRIES]
  return (
    <>
      <Field
        label="Expires"
        hint="You can change this at any time before the key expires."
        error={expiry === "date" ? undefined : error}
      >
        {(control) => (
          <select
            {...control}
            value={expiry}
            onChange={({ currentTarget }) => {
              const picked = options.find(({ value }) => value === currentTarget.value)
              if (picked !== undefined) onChange(picked.value, date)
            }}
          >
            {options.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {expiry === "date" && (
        <Field label="Last day" error={error}>
          {(control) => (
            <input
              {...control}
              type="date"
              value={date}
              onInput={({ currentTarget }) => onChange(expiry, currentTarget.value)}
            />
          )}
        </Field>
      )}
    </>
  )
}
