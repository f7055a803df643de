/** How the command was started, and how its exit code is set. Tests run commands in their own process. */
import { Context, Effect } from "effect"

export interface Invocation {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly setExitCode: (code: number) => void
}

const ofThisProcess: Invocation = {
  // a copy: `--env-file` changes the variables of the process
  env: { ...process.env },
  cwd: process.cwd(),
  setExitCode: (code) => {
    process.exitCode = code
  },
}

export const Invocation = Context.Reference<Invocation>("voicegate/cli/Invocation", {
  defaultValue: () => ofThisProcess,
})

/** Sets the exit code; the command goes on. */
export const exitWith = (code: number): Effect.Effect<void> =>
  Effect.map(Invocation, ({ setExitCode }) => setExitCode(code))
