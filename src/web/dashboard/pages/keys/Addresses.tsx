/** The addresses from which a key may be used, one a line. */
import type { JSX } from "preact"
import { Field } from "../../../shared/parts/form.tsx"

export const Addresses = ({
  typed,
  error,
  onType,
}: {
  readonly typed: string
  readonly error: string | undefined
  readonly onType: (typed: string) => void
}): JSX.Element => (
  <Field
    label="Allowed addresses (optional)"
    hint="IP addresses or CIDR ranges, one per line, such as 203.0.113.7 or 2001:db8::/48. Leave empty to allow any."
    error={error}
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

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/

/** How many bits an address has; undefined when it is none. */
const bitsOf = (address: string): number | undefined => {
  if (IPV4.test(address)) return 32
  return /^[\da-f:.]+$/i.test(address) && URL.canParse(`http://[${address}]`) ? 128 : undefined
}

const isRange = (entry: string): boolean => {
  const [address = "", prefix, ...more] = entry.split("/")
  const bits = bitsOf(address)
  if (bits === undefined || more.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits)
}

/** What is wrong with the list; undefined when nothing is. The platform checks it again. */
export const addressProblem = (typed: string): string | undefined => {
  const wrong = addressesOf(typed).filter((entry) => !isRange(entry))
  if (wrong.length === 0) return undefined
  const named = wrong.slice(0, 3).map((entry) => `“${entry.slice(0, 64)}”`)
  const more = wrong.length > named.length ? ` and ${wrong.length - named.length} more` : ""
  return `${named.join(", ")}${more}: not an IP address or a CIDR range.`
}
