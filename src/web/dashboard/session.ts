/** The session of this page, and signing in again when it ends while the page is open. */
import { signal } from "@preact/signals"
import type { Account } from "../../platform/http/dashboard/shapes.ts"

export type Session =
  /** loading */
  | { readonly name: "asking" }
  | { readonly name: "out" }
  /** `again`: the session has ended, and the page shows the sign-in dialog over its content */
  | { readonly name: "in"; readonly account: Account; readonly again: boolean }

export const session = signal<Session>({ name: "asking" })

let resolvers: Array<(again: boolean) => void> = []

const settle = (again: boolean): void => {
  const answer = resolvers
  resolvers = []
  for (const resolve of answer) resolve(again)
}

/** Asks the user to sign in again; false if another user signs in, or if nobody was signed in. */
export const signedInAgain = (): Promise<boolean> => {
  const now = session.value
  if (now.name !== "in") return Promise.resolve(false)
  session.value = { ...now, again: true }
  return new Promise((resolve) => resolvers.push(resolve))
}

/** Pending calls are repeated only for the same user. */
export const signIn = (account: Account): void => {
  const before = session.value
  session.value = { name: "in", account, again: false }
  settle(before.name === "in" && before.account.id === account.id)
}

export const signOut = (): void => {
  session.value = { name: "out" }
  settle(false)
}
