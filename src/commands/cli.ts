/**
 * The command line: `serve` (the default), `demo`, `check`, `settings`, `platform`. Wiring only. Other commands load their modules when
 * they run, so that serving starts fast.
 */
import "effect/schema/SchemaJITCompiler/enable"
import { createRequire } from "node:module"
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Cause, Effect, Layer, Option, Runtime } from "effect"
import { Command, Flag } from "effect/cli"
import { layerStandardOutput } from "../log.ts"
import { Settings } from "../Settings.ts"
import { loadSettings, type SettingsSource } from "../settings/load.ts"
import { platform } from "./platform.ts"
import { asWorker, isWorker, serveWithProcesses } from "./processes.ts"
import { serve } from "./serve.ts"
import { settings } from "./settings.ts"

/** The exit code of `Runtime.defaultTeardown` for SIGINT and SIGTERM. */
const INTERRUPTED = 130

const { version }: { version: string } = createRequire(import.meta.url)("../../package.json")

const config = Flag.File("config").pipe(
  Flag.withAlias("c"),
  Flag.withDescription(
    "JSON file of settings, such as voicegate settings prints; by default settings.json in the working directory",
  ),
  Flag.optional,
)

const sourceOf = (file: Option.Option<string>): SettingsSource => ({
  file: Option.getOrUndefined(file),
  env: process.env,
  cwd: process.cwd(),
})

const exitWith = (code: number): Effect.Effect<void> =>
  Effect.sync(() => {
    process.exitCode = code
  })

const processes = Flag.Int("processes").pipe(
  Flag.withDescription("how many processes share the port, to use several cores; more than one requires Redis"),
  Flag.withDefault(1),
  Flag.filter(
    (count) => count >= 1 && count <= 64,
    () => "Expected a number from 1 to 64",
  ),
)

const serving = Effect.fnUntraced(
  function* (input: { readonly config: Option.Option<string>; readonly processes: number }) {
    const { tree, warnings } = yield* loadSettings(sourceOf(input.config))
    const alone = Effect.provide(serve, Layer.succeed(Settings, tree))
    if (isWorker()) return yield* asWorker(alone)
    yield* Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true })
    return input.processes > 1 ? yield* serveWithProcesses(input.processes, tree) : yield* alone
  },
  Effect.catch((error: { readonly _tag: string; readonly message: string }) =>
    Effect.andThen(
      Effect.logFatal(
        error._tag === "SettingsInvalid"
          ? `${error.message}\n\nvoicegate settings --help lists every setting, and src/docs/configuration.md explains them. To try voicegate without settings: voicegate demo`
          : error.message,
      ),
      exitWith(1),
    ),
  ),
)

const voicegate = Command.make("voicegate", { config, processes }, serving).pipe(
  Command.withDescription(
    "The gatekeeper between a website's voice widget and its voice agent. Without a command: serve.",
  ),
  Command.withSubcommands([
    Command.make("serve", { config, processes }, serving).pipe(Command.withDescription("Serve the gate")),
    Command.make(
      "demo",
      { port: Flag.Int("port").pipe(Flag.withDescription("the preferred port of the page"), Flag.withDefault(8080)) },
      ({ port }) =>
        Effect.flatMap(
          Effect.promise(() => import("./demo.ts")),
          ({ demo }) => demo(port),
        ),
    ).pipe(
      Command.withDescription("Run the gate, a local platform and a page to call from, offline and without settings"),
    ),
    Command.make(
      "check",
      {
        config,
        json: Flag.Boolean("json").pipe(
          Flag.withDescription("one JSON document: ok, checks (name, campaign, status, message), warnings"),
          Flag.withDefault(false),
        ),
      },
      (input) =>
        Effect.gen(function* () {
          const { check } = yield* Effect.promise(() => import("./check.ts"))
          const ok = yield* check(sourceOf(input.config), { json: input.json })
          yield* exitWith(ok ? 0 : 1)
        }),
    ).pipe(
      Command.withDescription(
        "Check settings, store, platform, campaign, region, slots and IP provider; exit code 1 when a check fails",
      ),
    ),
    settings,
    platform,
  ]),
)

/** A regular shutdown by a signal exits with 0. */
const teardown: Runtime.Teardown = (exit, onExit) =>
  Runtime.defaultTeardown(exit, (code) => onExit(code === INTERRUPTED ? 0 : code))

voicegate.pipe(
  Command.run({ version }),
  // as runMain does, but in the log's format
  Effect.tapCause((cause) =>
    Cause.hasInterruptsOnly(cause) || !Runtime.getErrorReported(Cause.squash(cause))
      ? Effect.void
      : Effect.logFatal(cause),
  ),
  Effect.provide([NodeServices.layer, layerStandardOutput]),
  NodeRuntime.runMain({ teardown, disableErrorReporting: true }),
)
