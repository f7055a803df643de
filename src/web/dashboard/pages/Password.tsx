/** Changes the signed-in user's password; requires the current one. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import { announce } from "../../shared/parts/announce.ts"
import { Field, Form } from "../../shared/parts/form.tsx"
import { api } from "../client.ts"
import { useAction } from "../parts/action.ts"
import { Problem } from "../parts/Problem.tsx"

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
  ...(next.length >= SHORTEST && next === current ? { next: "Enter another password than the current one." } : {}),
  ...(next.length >= SHORTEST && next !== again ? { again: "This is not the same as the new password." } : {}),
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
  const [errors, setErrors] = useState<Errors>({})
  const [changed, setChanged] = useState(false)
  const { busy, failure, run } = useAction()
  const submit = (): void => {
    const found = errorsOf(current, next, again)
    setErrors(found)
    setChanged(false)
    if (Object.keys(found).length > 0) return
    void run(api.account.changePassword({ payload: { current, next } }), () => {
      setCurrent("")
      setNext("")
      setAgain("")
      setChanged(true)
      announce("The password is changed. All other sign-ins have ended.")
      onChanged()
    })
  }
  return (
    <Form onSubmit={submit} errors={errors}>
      <p class="small">Changing it ends all other sign-ins.</p>
      {/* for password managers, which otherwise cannot know whose password this is */}
      <input type="text" hidden readOnly autoComplete="username" value={email} />
      <Field label="Current password" error={errors.current}>
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
      <Field label="New password" hint={`At least ${SHORTEST} characters.`} error={errors.next}>
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
      <Field label="New password again" error={errors.again}>
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
      {changed && <p>The password is changed. All other sign-ins have ended.</p>}
      <div class="actions">
        <button type="submit" class="primary" aria-disabled={busy}>
          {busy ? "Changing …" : "Change the password"}
        </button>
      </div>
    </Form>
  )
}
