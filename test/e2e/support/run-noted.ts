/** Runs the built program and notes its output as evidence. */
import { type Environment, runProgram } from "../../harness/gate.ts"
import { note } from "./evidence.ts"

const TOPIC = "5-command-line"

export const run = async (args: ReadonlyArray<string>, environment: Environment = {}) => {
  const result = await runProgram(args, environment)
  note(TOPIC, `$ voicegate ${args.join(" ")}   → exit code ${result.code}\n${result.output.trimEnd()}\n`)
  return result
}
