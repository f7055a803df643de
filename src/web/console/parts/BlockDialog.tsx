/** Asks for how long an address is blocked, and whether its whole network is. Nothing is blocked by Enter on a choice. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import { Dialog } from "../../shared/parts/Dialog.tsx"
import { Choice, Form, Group } from "../../shared/parts/form.tsx"
import { networkOf } from "../sought.ts"

const HOUR = 3_600_000
const TERMS = [
  { label: "For an hour", millis: HOUR },
  { label: "For a day", millis: 24 * HOUR },
  { label: "For a week", millis: 7 * 24 * HOUR },
  { label: "Until I lift it", millis: 0 },
] as const

const ignoreEnter = (event: KeyboardEvent): void => {
  if (event.key === "Enter") event.preventDefault()
}

export const BlockDialog = ({
  address,
  onCancel,
  onBlock,
}: {
  readonly address: string
  readonly onCancel: () => void
  /** `millis` is 0 for a block without an end */
  readonly onBlock: (address: string, millis: number) => void
}): JSX.Element => {
  const [term, setTerm] = useState(0)
  const [whole, setWhole] = useState(false)
  const network = networkOf(address)
  return (
    <Dialog title={`Block ${address}?`} onClose={onCancel}>
      <p>
        New requests from there are refused at all campaigns, within seconds at every instance. Calls go on, and who
        waits keeps the place.
      </p>
      <Form
        onSubmit={() => onBlock(whole && network !== undefined ? network : address, TERMS[term]?.millis ?? HOUR)}
        errors={{}}
        start="input:checked"
      >
        <Group label="How long">
          {TERMS.map(({ label }, i) => (
            <Choice
              key={label}
              type="radio"
              name="term"
              label={label}
              checked={term === i}
              onChange={() => setTerm(i)}
              onKeyDown={ignoreEnter}
            />
          ))}
        </Group>
        {network !== undefined && (
          <Choice
            type="checkbox"
            label={`The whole network ${network}`}
            hint="Everyone in it is refused: an office, a district of a mobile network."
            checked={whole}
            onChange={({ currentTarget }) => setWhole(currentTarget.checked)}
            onKeyDown={ignoreEnter}
          />
        )}
        <div class="actions">
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
          <button type="submit" class="danger">
            Block
          </button>
        </div>
      </Form>
    </Dialog>
  )
}
