/** The sign-in form: a page, or a dialog over the page whose session has ended. */
import type { JSX } from "preact"
import { useLayoutEffect, useState } from "preact/hooks"
import type { Account } from "../../platform/http/dashboard/shapes.ts"
import { announceUnseen } from "../shared/parts/announce.ts"
import { Dialog } from "../shared/parts/Dialog.tsx"
import { useErrors } from "../shared/parts/errors.ts"
import { Field, Form } from "../shared/parts/form.tsx"
import { Wordmark } from "../shared/parts/Wordmark.tsx"
import { api } from "./client.ts"
import { useAction } from "./parts/action.ts"
import { Problem } from "./parts/Problem.tsx"
import { signIn, signOut } from "./session.ts"

const SignInForm = ({ email: known }: { readonly email?: string }): JSX.Element => {
  const [email, setEmail] = useState(known ?? "")
  const [password, setPassword] = useState("")
  const { busy, failure, run } = useAction()
  const errors = useErrors<{ readonly email?: string; readonly password?: string }>({
    ...(email.trim() === "" ? { email: "Enter your email address." } : {}),
    ...(password === "" ? { password: "Enter your password." } : {}),
  })
  const submit = (): void => {
    if (!errors.check()) return
    void run(api.session.signIn({ payload: { email: email.trim(), password } }), (account) => {
      announceUnseen(`Signed in as ${account.name}.`)
      signIn(account)
    })
  }
  return (
    <Form onSubmit={submit} errors={errors.reported} start={known === undefined ? "[type=email]" : "[type=password]"}>
      <Field label="Email address" error={errors.of("email")}>
        {(control) => (
          <input
            {...control}
            type="email"
            autoComplete="username"
            value={email}
            onInput={(event) => setEmail(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Password" error={errors.of("password")}>
        {(control) => (
          <input
            {...control}
            type="password"
            autoComplete="current-password"
            value={password}
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        )}
      </Field>
      <Problem of={failure} />
      <div class="actions">
        <button type="submit" class="primary" aria-disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
        {known !== undefined && (
          <button type="button" class="quiet" onClick={signOut}>
            Use a different account
          </button>
        )}
      </div>
    </Form>
  )
}

export const SignInPage = (): JSX.Element => {
  useLayoutEffect(() => {
    document.title = "Sign in · voicegate platform"
  }, [])
  return (
    <main class="alone">
      <Wordmark of="platform" />
      <h1 tabIndex={-1}>Sign in</h1>
      <SignInForm />
      <p class="small">Accounts are created from the command line by the platform’s administrator.</p>
    </main>
  )
}

export const SignInAgain = ({ account }: { readonly account: Account }): JSX.Element => (
  <Dialog title="Your session has ended" keep onClose={signOut}>
    <p>Sign in to pick up where you left off. Nothing you entered is lost.</p>
    <SignInForm email={account.email} />
  </Dialog>
)
