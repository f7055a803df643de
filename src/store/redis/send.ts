/** Sends one command through ioredis, with a callback or as an effect. What ioredis throws is passed on like an answer. */
import { Effect } from "effect"
import type { Done } from "./batch.ts"

/** ioredis's message for a command without an answer in time. */
export const TIMED_OUT = "Command timed out"

/** The error is a reply of the server, not one of the connection. */
export const isReplyError = (error: Error): boolean => error.name === "ReplyError"

/** Calls `send`, and passes what it throws to `done`: ioredis throws when no node of a cluster has the key's slot. */
export const attempt = (done: Done, send: () => unknown): void => {
  try {
    send()
  } catch (thrown) {
    done(thrown instanceof Error ? thrown : new Error(String(thrown)))
  }
}

/** Interruption does not cancel it: it may have been carried out already. */
export const sendCommand = (send: (done: Done) => unknown): Effect.Effect<unknown, Error> =>
  Effect.callback((resume) => {
    const done: Done = (error, reply) => resume(error ? Effect.fail(error) : Effect.succeed(reply))
    attempt(done, () => send(done))
  })
