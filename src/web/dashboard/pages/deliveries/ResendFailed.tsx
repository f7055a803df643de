/** Sends again what failed since a time. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import { Dialog } from "../../../shared/parts/Dialog.tsx"
import { useErrors } from "../../../shared/parts/errors.ts"
import { Field, Form } from "../../../shared/parts/form.tsx"
import { api } from "../../client.ts"
import { useAction } from "../../parts/action.ts"
import { DialogActions } from "../../parts/DialogActions.tsx"
import { notify } from "../../parts/notify.ts"
import { Problem } from "../../parts/Problem.tsx"

const HOUR_MILLIS = 3_600_000
const SPANS: ReadonlyArray<{ readonly hours: number; readonly label: string }> = [
  { hours: 1, label: "The last hour" },
  { hours: 24, label: "The last 24 hours" },
  { hours: 7 * 24, label: "The last 7 days" },
  { hours: 0, label: "A time you choose" },
]
const DEFAULT_HOURS = 24

export const ResendFailed = ({
  businessId,
  business,
  onClose,
  onDone,
}: {
  /** empty for all businesses */
  readonly businessId: string
  readonly business: string
  readonly onClose: () => void
  readonly onDone: () => void
}): JSX.Element => {
  const [hours, setHours] = useState(DEFAULT_HOURS)
  const [typed, setTyped] = useState("")
  const { busy, failure, run } = useAction()
  const chosen = new Date(typed).getTime()
  const errors = useErrors<{ readonly time?: string }>(
    hours === 0 && !(chosen <= Date.now()) ? { time: "Choose a time in the past." } : {},
  )
  const submit = (): void => {
    if (!errors.check()) return
    const since = hours === 0 ? chosen : Date.now() - hours * HOUR_MILLIS
    const payload = { since, ...(businessId === "" ? {} : { businessId }) }
    void run(api.deliveries.sendFailedAgain({ payload }), ({ resent }) => {
      notify(
        resent === 0
          ? "Nothing to resend in that time."
          : resent === 1
            ? "1 delivery is being sent again."
            : `${resent} deliveries are being sent again.`,
      )
      onDone()
    })
  }
  return (
    <Dialog title="Resend failed deliveries" onClose={onClose}>
      <Form onSubmit={submit} errors={errors.reported}>
        <p>
          Resends deliveries {businessId === "" ? "" : `of ${business} `}that failed or are waiting for another attempt.
          Successful ones aren’t sent again.
        </p>
        <Field label="Created in">
          {(control) => (
            <select
              {...control}
              value={String(hours)}
              onChange={({ currentTarget }) => setHours(Number(currentTarget.value))}
            >
              {SPANS.map(({ hours: value, label }) => (
                <option key={value} value={String(value)}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
        {hours === 0 && (
          <Field label="Since" error={errors.of("time")}>
            {(control) => (
              <input
                {...control}
                type="datetime-local"
                value={typed}
                onInput={({ currentTarget }) => setTyped(currentTarget.value)}
              />
            )}
          </Field>
        )}
        <Problem of={failure} />
        <DialogActions label="Resend" busyLabel="Sending…" busy={busy} onClose={onClose} />
      </Form>
    </Dialog>
  )
}
