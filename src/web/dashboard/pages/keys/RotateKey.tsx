/** Gives a key a new secret, which is shown once; the current one still works for a chosen time. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { ApiKey, CreatedApiKey } from "../../../../platform/keys/ApiKey.ts"
import { announceUnseen } from "../../../shared/parts/announce.ts"
import { Dialog } from "../../../shared/parts/Dialog.tsx"
import { Field, Form } from "../../../shared/parts/form.tsx"
import { api } from "../../client.ts"
import { useAction } from "../../parts/action.ts"
import { DialogActions } from "../../parts/DialogActions.tsx"
import { Problem } from "../../parts/Problem.tsx"
import * as words from "../../words.ts"
import { KeySecret } from "./KeySecret.tsx"

/** For how many hours the current secret still works. */
const OVERLAPS: ReadonlyArray<{ readonly hours: number; readonly label: string }> = [
  { hours: 0, label: "Immediately" },
  { hours: 1, label: "In 1 hour" },
  { hours: 24, label: "In 24 hours" },
  { hours: 7 * 24, label: "In 7 days" },
]
const DEFAULT_HOURS = 24
const HOUR_MILLIS = 3_600_000
const NO_ERRORS = {}

export const RotateKey = ({
  of,
  now,
  onClose,
}: {
  readonly of: ApiKey
  readonly now: number
  readonly onClose: () => void
}): JSX.Element => {
  const [hours, setHours] = useState(DEFAULT_HOURS)
  const [created, setCreated] = useState<CreatedApiKey>()
  const { busy, failure, run } = useAction()

  if (created !== undefined) return <KeySecret created={created} onClose={onClose} />

  const submit = (): void => {
    const previousUntil = hours === 0 ? null : Date.now() + hours * HOUR_MILLIS
    void run(api.keys.rotate({ params: { id: of.id }, payload: { previousUntil } }), (answer) => {
      announceUnseen("Key rotated. Copy its new secret now. You won’t see it again.")
      setCreated(answer)
    })
  }
  return (
    <Dialog title={`Rotate “${of.name}”?`} onClose={onClose}>
      <Form onSubmit={submit} errors={NO_ERRORS}>
        <p>
          You’ll get a new secret. Update everything that uses <code class="display">{of.display}</code> before the
          current secret expires.
        </p>
        {of.previousSecretUntil !== null && of.previousSecretUntil > now && (
          <p class="warning">
            The secret from the last rotation works until {words.at(of.previousSecretUntil)}. If you rotate again, it
            stops at once.
          </p>
        )}
        <Field label="Current secret expires" hint="It can take up to 30 seconds to expire everywhere.">
          {(control) => (
            <select
              {...control}
              value={String(hours)}
              onChange={({ currentTarget }) => setHours(Number(currentTarget.value))}
            >
              {OVERLAPS.map(({ hours: value, label }) => (
                <option key={value} value={String(value)}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Problem of={failure} />
        <DialogActions label="Rotate key" busyLabel="Rotating…" busy={busy} onClose={onClose} />
      </Form>
    </Dialog>
  )
}
