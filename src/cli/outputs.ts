/** What happens when an output of this process cannot be written. Without a listener, such an error would end the process with a stack. */

/** The other end of a pipe was closed (`voicegate settings | head`), or the terminal. */
const isClosed = (error: NodeJS.ErrnoException): boolean => error.code === "EPIPE" || error.code === "EIO"

/**
 * A command whose reader has closed the pipe ends as if all its output had been read. One whose output was refused,
 * such as by a full disk, says so and fails. A gate that serves goes on either way (`lib/log-output.ts`).
 */
export const guardOutputs = (): void => {
  process.stderr.on("error", () => {})
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (isClosed(error)) return
    process.exitCode = 1
    process.stderr.write(`The output could not be written: ${error.code ?? error.message}\n`)
  })
}
