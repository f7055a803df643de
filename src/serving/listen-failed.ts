/** What is said when a server cannot listen on its address. */
import { Schema } from "effect"

/** The server cannot listen on its address. */
export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", { message: Schema.String }) {}

const WHY_NOT = new Map([
  ["EADDRINUSE", ": another program listens there, perhaps another instance of this one"],
  ["EACCES", ": this user may not; ports below 1024 need a privilege"],
  ["EADDRNOTAVAIL", ": this machine does not have the address"],
  ["ENOTFOUND", ": the name is not known"],
])

/**
 * @param from what the address is from, such as the names of its settings
 * @param error what `listen` has failed with
 */
export const listenFailed = (from: string, host: string, port: number, error: unknown): ListenFailed => {
  const code =
    error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown error"
  return new ListenFailed({ message: `${from}: cannot listen on ${host}:${port} (${code})${WHY_NOT.get(code) ?? ""}` })
}
