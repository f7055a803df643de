/**
 * Asks when a pause ends: only when an operator resumes, or at a time. Enter on a choice does not pause, because the key that opened the
 * dialog may still be down.
 */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Question } from "../../../operator/action-words.ts"
import { Dialog } from "../../shared/parts/Dialog.tsx"
import { Choice, Field, Form, Group } from "../../shared/parts/form.tsx"
import { fromField, inAnHour, problemOfEnd, timeZone, toField } from "../local-time.ts"
import { OfCampaign } from "./Confirm.tsx"

const ignoreEnter = (event: KeyboardEvent): void => {
  if (event.key === "Enter") event.preventDefault()
}

export const PauseDialog = ({
  question: { confirm, text, title },
  campaign,
  until,
  onCancel,
  onPause,
}: {
  readonly question: Question
  /** named where the gate has several campaigns */
  readonly campaign: string | undefined
  /** when the pause ends now (ms since 1970); undefined if it has no end */
  readonly until: number | undefined
  readonly onCancel: () => void
  /** `until` is undefined for a pause without an end */
  readonly onPause: (until: number | undefined) => void
}): JSX.Element => {
  const [ends, setEnds] = useState(until !== undefined)
  const [end, setEnd] = useState(() => toField(until ?? inAnHour(Date.now())))
  const [errors, setErrors] = useState<{ readonly end?: string }>({})

  const problemOf = (value: string): string => problemOfEnd(fromField(value), Date.now())
  const change = (value: string): void => {
    setEnd(value)
    if (errors.end !== undefined && problemOf(value) === "") setErrors({})
  }
  const submit = (): void => {
    const problem = ends ? problemOf(end) : ""
    if (problem !== "") setErrors({ end: problem })
    else onPause(ends ? fromField(end) : undefined)
  }
  const choices = { type: "radio", name: "end", onKeyDown: ignoreEnter } as const
  return (
    <Dialog title={title} onClose={onCancel}>
      {campaign !== undefined && <OfCampaign name={campaign} />}
      <p>{text}</p>
      <Form onSubmit={submit} errors={errors} start="input:checked">
        <Group label="How long">
          <Choice {...choices} label="Until I resume" checked={!ends} onChange={() => setEnds(false)} />
          <Choice {...choices} label="Until a date and time" checked={ends} onChange={() => setEnds(true)} />
        </Group>
        {ends && (
          <Field
            label="Date and time"
            hint={`Your time zone: ${timeZone()}. Waiting callers are told this time.`}
            error={errors.end}
          >
            {(control) => (
              <input
                {...control}
                type="datetime-local"
                min={toField(Date.now())}
                max="9999-12-30T23:59"
                value={end}
                onInput={({ currentTarget }) => change(currentTarget.value)}
              />
            )}
          </Field>
        )}
        <div class="actions">
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
          <button type="submit" class="primary">
            {confirm}
          </button>
        </div>
      </Form>
    </Dialog>
  )
}
