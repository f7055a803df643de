/** Who is signed in on this page, and what happens when the session ends while it is open. */
import type { Account } from "../../platform/http/dashboard/shapes.ts"
import { createStore } from "../shared/store.ts"

export type Session =
  /** not known yet */
  | { readonly name: "asking" }
  | { readonly name: "out" }
  /** `again`: the session is over, and the page waits below the form for its user to come back */
  | { readonly name: "in"; readonly account: Account; readonly again: boolean }

export const session = createStore<Session>({ name: "asking" })

let waiting: Array<(again: boolean) => void> = []

const settle = (again: boolean): void => {
  const answer = waiting
  waiting = []
  for (const tell of answer) tell(again)
}

/** Asks the user to sign in again; false when nobody does, or somebody else. */
export const signedInAgain = (): Promise<boolean> => {
  const now = session.get()
  if (now.name !== "in") return Promise.resolve(false)
  session.set({ ...now, again: true })
  return new Promise((resolve) => waiting.push(resolve))
}

/** Somebody signed in. Another user than before starts with a page of their own. */
export const signIn = (account: Account): void => {
  const before = session.get()
  session.set({ name: "in", account, again: false })
  settle(before.name === "in" && before.account.id === account.id)
}

export const signOut = (): void => {
  session.set({ name: "out" })
  settle(false)
}
