/** Whether an operator is signed in on this tab. The token is kept in the session storage of the tab, which ends with the tab. */
import { signal } from "@preact/signals"
import type { View } from "../../operator/shapes.ts"
import { type Client, createClient } from "./client.ts"

const STORED = "voicegate.console.token"

export type Session =
  /** `wrong`: why the operator was signed out; empty if there was no error */
  | { readonly name: "out"; readonly wrong: string }
  /** `first`: what the gate answered when the operator signed in; undefined after a reload */
  | { readonly name: "in"; readonly client: Client; readonly first: View | undefined }

const begin = (): Session => {
  const token = sessionStorage.getItem(STORED)
  return token === null ? { name: "out", wrong: "" } : { name: "in", client: createClient(token), first: undefined }
}

export const session = signal<Session>(begin())

/** Signs in with a token that the gate has accepted. */
export const signIn = (token: string, client: Client, first: View): void => {
  sessionStorage.setItem(STORED, token)
  session.value = { name: "in", client, first }
}

export const signOut = (wrong = ""): void => {
  sessionStorage.removeItem(STORED)
  session.value = { name: "out", wrong }
}
