/**
 * The command line: `serve` (the default), `demo`, `check`, `settings`, `platform`. Wiring only; what only one command needs is loaded when
 * it runs, so that serving starts without it.
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
import { asOneOfSeveral, isOneOfSeveral, serveWith } from "./processes.ts"
import { serve } from "./serve.ts"
import { settings } from "./settings.ts"

/** What `Runtime.defaultTeardown` makes of SIGINT and SIGTERM. */
const INTERRUPTED = 130

const { version }: { version: string } = createRequire(import.meta.url)("../../package.json")

const config = Flag.File("config").pipe(
  Flag.withAlias("c"),
  Flag.withDescription(
    "JSON file of settings, as voicegate settings prints; settings.json beside the process when absent",
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
  Flag.withDescription("how many processes share the port, to use more than one core; more than one need Redis"),
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
    if (isOneOfSeveral()) return yield* asOneOfSeveral(alone)
    yield* Effect.forEach(warnings, (warning) => Effect.logWarning(warning), { discard: true })
    return input.processes > 1 ? yield* serveWith(input.processes, tree) : yield* alone
  },
  Effect.catch((error: { readonly _tag: string; readonly message: string }) =>
    Effect.andThen(
      Effect.logFatal(
        error._tag === "SettingsInvalid"
          ? `${error.message}\n\nvoicegate settings --help lists every setting, and src/docs/configuration.md explains them. To try voicegate without any: voicegate demo`
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
      { port: Flag.Int("port").pipe(Flag.withDescription("where the page is wanted"), Flag.withDefault(8080)) },
      ({ port }) =>
        Effect.flatMap(
          Effect.promise(() => import("./demo.ts")),
          ({ demo }) => demo(port),
        ),
    ).pipe(Command.withDescription("Run gate, local platform and a page to call from, offline, with no settings")),
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
        "Say what works, and what was not checked: settings, store, platform, campaign, region, slots, IP provider; exit code 1 when something fails",
      ),
    ),
    settings,
    platform,
  ]),
)

/** Being told to stop, and having done so in order, is a success. */
const teardown: Runtime.Teardown = (exit, onExit) =>
  Runtime.defaultTeardown(exit, (code) => onExit(code === INTERRUPTED ? 0 : code))

voicegate.pipe(
  Command.run({ version }),
  // as runMain would, in the format of the log
  Effect.tapCause((cause) =>
    Cause.hasInterruptsOnly(cause) || !Runtime.getErrorReported(Cause.squash(cause))
      ? Effect.void
      : Effect.logFatal(cause),
  ),
  Effect.provide([NodeServices.layer, layerStandardOutput]),
  NodeRuntime.runMain({ teardown, disableErrorReporting: true }),
)
