/** Tells systemd that the gate serves, when it runs as a service of `Type=notify` (sd_notify(3)). */
import { execFile } from "node:child_process"
import { Effect } from "effect"

/** `systemd-notify` sends the datagram, because Node has no sockets of that kind. Does nothing outside of systemd. */
export const notifyReady: Effect.Effect<void> = Effect.suspend(() =>
  process.env.NOTIFY_SOCKET === undefined
    ? Effect.void
    : Effect.callback<void>((resume) => {
        execFile("systemd-notify", ["--ready"], (error) => {
          resume(
            error === null
              ? Effect.void
              : Effect.logWarning(`systemd could not be told that the gate is ready: ${error.message.trim()}`),
          )
        })
      }),
)
