/** An operator's commands at a running gate with a console. */
import { assert } from "@effect/vitest"
import { type Runs, runCommand } from "../../harness/command.ts"
import type { Environment, Gate } from "../../harness/gate.ts"

export const CONSOLE_TOKEN = "e2e-console-token-0123456789"

/** What a command needs to reach this gate. */
export const accessTo = (gate: Gate): Environment => ({
  Security__ConsoleToken: CONSOLE_TOKEN,
  Server__Host: "127.0.0.1",
  Server__Port: new URL(gate.url).port,
})

/** Runs a command. Its output must not have the token. */
export const operate = async (command: string, access: Environment, runs: Runs = runCommand) => {
  const result = await runs(command.split(" "), access)
  assert.notInclude(result.output, CONSOLE_TOKEN)
  return result
}
