/**
 * Runs a command of the program in this process. It takes a twentieth of the time of a process of its own, so a test starts the built program
 * (`gate.ts`) only for what depends on the process: its environment file, its signals, its standard input.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ConfigProvider, Effect, Exit, Layer } from "effect"
import { TestConsole } from "effect/testing"
import { isWrongUsage, run, WRONG_USAGE } from "../../src/cli/commands.ts"
import { Invocation } from "../../src/lib/invocation.ts"
import * as Log from "../../src/lib/log.ts"
import { cheapPasswords } from "../support/passwords.ts"
import { assertSilent, type Environment } from "./gate.ts"

export interface Ended {
  readonly code: number
  /** what it wrote to standard output, and after it the log */
  readonly stdout: string
  readonly stderr: string
  /** both */
  readonly output: string
}

const textOf = (lines: ReadonlyArray<unknown>): string => lines.map((line) => `${String(line)}\n`).join("")

/** Runs a command, in this process or as a process (`runProgram`). */
export type Runs = (
  args: ReadonlyArray<string>,
  env?: Environment,
) => Promise<{ readonly code: number | null; readonly output: string }>

/** Runs the command with these arguments and variables alone, in a directory without settings. */
export const runCommand = (args: ReadonlyArray<string>, env: Environment = {}): Promise<Ended> =>
  Effect.runPromise(
    Effect.gen(function* () {
      let set = 0
      let log = ""
      const invocation: Invocation = {
        env,
        cwd: "/",
        setExitCode: (code) => {
          set = code
        },
      }
      const exit = yield* Effect.exit(run(args)).pipe(
        Effect.provide([
          NodeServices.layer,
          cheapPasswords,
          Layer.succeed(Invocation, invocation),
          ConfigProvider.layer(ConfigProvider.fromEnv({ env })),
          Log.layer((lines) => {
            log += lines
          }, "json"),
        ]),
      )
      const [lines, errors] = yield* Effect.all([TestConsole.logLines, TestConsole.errorLines])
      const [stdout, stderr] = [textOf(lines) + log, textOf(errors)]
      assertSilent(stdout + stderr)
      return {
        code: isWrongUsage(exit) ? WRONG_USAGE : Exit.isFailure(exit) ? 1 : set,
        stdout,
        stderr,
        output: stdout + stderr,
      }
    }).pipe(Effect.provide(TestConsole.layer)),
  )
