/** Runs a command of the command line (`commands.ts`) as a program: its log, its outputs, signals and exit code. */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Cause, Effect, Runtime } from "effect"
import { layerStandardOutput } from "../lib/log.ts"
import { isWrongUsage, run, WRONG_USAGE } from "./commands.ts"
import { guardOutputs } from "./outputs.ts"

/** The exit code of `Runtime.defaultTeardown` for SIGINT and SIGTERM. */
const INTERRUPTED = 130

/** A regular shutdown by a signal exits with 0. */
const teardown: Runtime.Teardown = (exit, onExit) =>
  Runtime.defaultTeardown(exit, (code) => onExit(isWrongUsage(exit) ? WRONG_USAGE : code === INTERRUPTED ? 0 : code))

guardOutputs()

run(process.argv.slice(2)).pipe(
  // as runMain does, but in the log's format
  Effect.tapCause((cause) =>
    Cause.hasInterruptsOnly(cause) || !Runtime.getErrorReported(Cause.squash(cause))
      ? Effect.void
      : Effect.logFatal(cause),
  ),
  Effect.provide([NodeServices.layer, layerStandardOutput]),
  NodeRuntime.runMain({ teardown, disableErrorReporting: true }),
)
