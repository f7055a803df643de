/** Shows the console to a signed-in operator, and the sign-in form otherwise. */
import type { JSX } from "preact"
import { Console } from "./Console.tsx"
import { Frame } from "./Frame.tsx"
import { SignIn } from "./SignIn.tsx"
import { session } from "./session.ts"

export const App = (): JSX.Element => {
  const now = session.value
  return now.name === "in" ? (
    <Console client={now.client} first={now.first} />
  ) : (
    <Frame>
      <SignIn wrong={now.wrong} />
    </Frame>
  )
}
