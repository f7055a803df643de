/** Chooses something that exists, or something new that the form then asks for. */
import type { JSX } from "preact"
import { Field } from "../../../shared/parts/form.tsx"

/** The value for something new. */
export const NEW = ""

export const Chooser = ({
  label,
  newLabel,
  hint,
  options,
  chosen,
  onChoose,
}: {
  readonly label: string
  readonly newLabel: string
  /** about what is chosen */
  readonly hint?: string | undefined
  readonly options: ReadonlyArray<{ readonly id: string; readonly name: string }>
  readonly chosen: string
  readonly onChoose: (id: string) => void
}): JSX.Element | null =>
  options.length === 0 ? null : (
    <Field label={label} hint={hint}>
      {(control) => (
        <select {...control} value={chosen} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
          {options.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
          <option value={NEW}>{newLabel}</option>
        </select>
      )}
    </Field>
  )
