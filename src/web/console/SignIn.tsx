/** The sign-in form. A token is accepted if the gate answers a request with it. */
import type { JSX } from "preact"
import { useLayoutEffect, useState } from "preact/hooks"
import { useErrors } from "../shared/parts/errors.ts"
import { Field, Form } from "../shared/parts/form.tsx"
import { createClient, isOtherVersion, isUnknown, isWrongToken, messageOf } from "./client.ts"
import { readAddress } from "./page-address.ts"
import { ROWS, START } from "./polling.ts"
import { signIn } from "./session.ts"

export const SignIn = ({ wrong: before }: { readonly wrong: string }): JSX.Element => {
  const [token, setToken] = useState("")
  const [wrong, setWrong] = useState(before)
  const [busy, setBusy] = useState(false)
  const errors = useErrors<{ readonly token?: string }>(
    token.trim() === "" ? { token: "Enter the console token." } : {},
  )
  useLayoutEffect(() => {
    document.title = "Sign in: voicegate console"
  }, [])
  const submit = async (): Promise<void> => {
    const given = token.trim()
    if (busy || !errors.check()) return
    setBusy(true)
    const client = createClient(given)
    const { campaign } = readAddress(location.search)
    const view = (of: string) => client.view({ ...START, campaign: of, since: 0, rows: ROWS })
    try {
      const first = await view(campaign).catch((error: unknown) => {
        if (isUnknown(error) && campaign !== "") return view("")
        throw error
      })
      signIn(given, client, first)
    } catch (error) {
      if (isWrongToken(error)) setToken("")
      setWrong(
        isWrongToken(error)
          ? "Incorrect token."
          : `${messageOf(error)} ${isOtherVersion(error) ? "Reload the page." : "Try again."}`,
      )
    }
    setBusy(false)
  }
  return (
    <div class="sign-in">
      <h1>Sign in</h1>
      <Form onSubmit={() => void submit()} errors={errors.reported} start="input">
        <Field
          label="Console token"
          hint="The value of Security.ConsoleToken. It’s forgotten when you close this tab."
          error={errors.of("token")}
        >
          {(control) => (
            <input
              {...control}
              type="password"
              autoComplete="current-password"
              value={token}
              onInput={({ currentTarget }) => setToken(currentTarget.value)}
            />
          )}
        </Field>
        {wrong !== "" && (
          <p class="wrong" role="alert">
            {wrong}
          </p>
        )}
        <button type="submit" class="primary" aria-disabled={busy}>
          {busy ? "Signing in…" : "Sign in"}
        </button>
      </Form>
    </div>
  )
}
