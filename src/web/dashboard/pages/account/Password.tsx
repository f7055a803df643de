/** Changes the signed-in user's password; requires the current one. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import { announceUnseen } from "../../../shared/parts/announce.ts"
import { useErrors } from "../../../shared/parts/errors.ts"
import { Field, Form } from "../../../shared/parts/form.tsx"
import { api } from "../../client.ts"
import { useAction } from "../../parts/action.ts"
import { Problem } from "../../parts/Problem.tsx"

/** The platform's minimum length (`Passwords.ts`). */
const SHORTEST = 12

interface Errors {
  readonly current?: string
  readonly next?: string
  readonly again?: string
}

const errorsOf = (current: string, next: string, again: string): Errors => ({
  ...(current === "" ? { current: "Enter your current password." } : {}),
  ...(next.length < SHORTEST ? { next: `Enter at least ${SHORTEST} characters.` } : {}),
  ...(next.length >= SHORTEST && next === current
    ? { next: "Your new password must be different from the current one." }
    : {}),
  ...(next.length >= SHORTEST && next !== again ? { again: "Passwords don’t match." } : {}),
})

export const Password = ({
  email,
  onChanged,
}: {
  readonly email: string
  readonly onChanged: () => void
}): JSX.Element => {
  const [current, setCurrent] = useState("")
  const [next, setNext] = useState("")
  const [again, setAgain] = useState("")
  const errors = useErrors(errorsOf(current, next, again))
  const [changed, setChanged] = useState(false)
  const { busy, failure, run } = useAction()
  const submit = (): void => {
    setChanged(false)
    if (!errors.check()) return
    void run(api.account.changePassword({ payload: { current, next } }), () => {
      setCurrent("")
      setNext("")
      setAgain("")
      setChanged(true)
      announceUnseen("Password changed. All other sign-ins have ended.")
      onChanged()
    })
  }
  return (
    <Form onSubmit={submit} errors={errors.reported}>
      {/* for password managers, which otherwise cannot know whose password this is */}
      <input type="text" hidden readOnly autoComplete="username" value={email} />
      <Field label="Current password" error={errors.of("current")}>
        {(control) => (
          <input
            {...control}
            type="password"
            autoComplete="current-password"
            value={current}
            onInput={(event) => setCurrent(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="New password" hint={`At least ${SHORTEST} characters.`} error={errors.of("next")}>
        {(control) => (
          <input
            {...control}
            type="password"
            autoComplete="new-password"
            maxLength={256}
            value={next}
            onInput={(event) => setNext(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Confirm new password" error={errors.of("again")}>
        {(control) => (
          <input
            {...control}
            type="password"
            autoComplete="new-password"
            maxLength={256}
            value={again}
            onInput={(event) => setAgain(event.currentTarget.value)}
          />
        )}
      </Field>
      <Problem of={failure} />
      {changed && <p>Password changed. All other sign-ins have ended.</p>}
      <div class="actions">
        <button type="submit" class="primary" aria-disabled={busy}>
          {busy ? "Changing…" : "Change password"}
        </button>
      </div>
    </Form>
  )
}
