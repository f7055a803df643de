/** A field for the web address of a gate or of a website. */
import type { JSX } from "preact"
import { TextField } from "./TextField.tsx"

interface AddressFieldProps {
  readonly label: string
  readonly hint?: string
  readonly error: string | undefined
  /** an address as an example */
  readonly placeholder: string
  readonly value: string
  readonly onChange: (value: string) => void
}

export const AddressField = (field: AddressFieldProps): JSX.Element => <TextField {...field} inputMode="url" />
