/**
 * The commands: `serve` (the default), `demo`, `check`, `settings`, `schema`, `token`, `campaign`, `ticket`, `address`, `events`, `budget`, `forget`, `reload`, `webhook`, `platform`.
 * Wiring only. Other commands load their modules when they run, so that serving starts fast. Exit codes: 0, 1 (failed), 2 (wrong usage).
 */
import { existsSync } from "node:fs"
import { Cause, Console, Effect, Exit, type FileSystem, Layer, Option, Schema } from "effect"
import { CliError, Command, Flag } from "effect/cli"
import { exitWith, Invocation } from "../lib/invocation.ts"
import {
  address,
  budget,
  campaign,
  events,
  forget,
  reload,
  ticket,
  withTicketLast,
} from "../operator/commands/operate.ts"
import { withTimesAttached } from "../operator/commands/times.ts"
import { VENDORS } from "../platform-api/vendors.ts"
import { packageVersion } from "../serving/package-files.ts"
import { listLoaded, loadSettings, type SettingsSource } from "../settings/load.ts"
import { Settings } from "../settings/Settings.ts"
import { listingText } from "../settings/showing/listing.ts"
import { origin } from "../settings/values/network.ts"
import { platform } from "./platform/platform.ts"
import { asWorker, isWorker, serveWithProcesses } from "./serve/processes.ts"
import { noteRequests } from "./serve/reload-requests.ts"
import { serve } from "./serve/serve.ts"
import { schema, settings } from "./settings.ts"
import { token } from "./token/token.ts"
import { webhook } from "./webhook/webhook.ts"

/** The exit code of a command line that cannot be understood. */
export const WRONG_USAGE = 2

const version = packageVersion()

const config = Flag.File("config").pipe(
  Flag.withAlias("c"),
  Flag.withDescription(
    "JSON file of settings, such as voicegate settings prints; by default settings.json in the working directory",
  ),
  Flag.optional,
)

const envFile = Flag.File("env-file").pipe(
  Flag.withDescription("file of environment variables, one NAME=value a line; those of the process win"),
  Flag.optional,
)

/** Where the settings are read from, as the flags say. */
interface Sources {
  readonly config: Option.Option<string>
  readonly envFile: Option.Option<string>
}

const sourceOf = ({ config, envFile }: Sources): Effect.Effect<SettingsSource> =>
  Effect.map(Invocation, ({ cwd, env }) => ({
    file: Option.getOrUndefined(config),
    envFile: Option.getOrUndefined(envFile),
    env,
    cwd,
  }))

/** Sets the file's variables for this process and its workers, which read more of them than the settings, such as `OTEL_…`. */
const applyEnvFile = ({ envFile }: Sources): Effect.Effect<void> =>
  Effect.sync(() => {
    // a file that cannot be read is reported with the settings
    if (Option.isSome(envFile) && existsSync(envFile.value)) process.loadEnvFile(envFile.value)
  })

const originsOf = Schema.decodeUnknownOption(origin)

const processes = Flag.Int("processes").pipe(
  Flag.withDescription("how many processes share the port, to use several cores; more than one requires Redis"),
  Flag.withDefault(1),
  Flag.filter(
    (count) => count >= 1 && count <= 64,
    () => "Expected a number from 1 to 64",
  ),
)

const printConfig = Flag.Boolean("print-config").pipe(
  Flag.withDescription("print every setting in force with where it is from, secrets masked, instead of serving"),
  Flag.withDefault(false),
)

/** The command without its subcommands, which also take `--config` and `--env-file`, before or after their names. */
const root = Command.make("voicegate", { processes, printConfig }).pipe(Command.withSharedFlags({ config, envFile }))

/** Refuses `--config` and `--env-file` for a command that reads no settings, where they would be ignored. */
const withoutSettings = Effect.flatMap(root, ({ config, envFile }) =>
  Option.isNone(config) && Option.isNone(envFile)
    ? Effect.void
    : Effect.fail(
        new CliError.UserError({
          cause: `${Option.isSome(config) ? "--config" : "--env-file"}: This command reads no settings of the gate.`,
        }),
      ),
)

interface ServeInput extends Sources {
  readonly processes: number
  readonly printConfig: boolean
}

/** Prints the settings in force, and then their problems, if any. */
const printing = Effect.fnUntraced(function* (source: SettingsSource) {
  yield* Console.log(listingText(yield* listLoaded(source)))
  const { warnings } = yield* loadSettings(source)
  yield* Effect.forEach(warnings, (warning) => Console.log(`note  ${warning}`), { discard: true })
})

const serving = Effect.fnUntraced(
  function* (input: ServeInput) {
    const source = yield* sourceOf(input)
    if (input.printConfig) return yield* printing(source)
    yield* Effect.sync(noteRequests)
    // workers set the variables themselves: what they inherited would win over a file that has changed since
    if (isWorker() || input.processes === 1) yield* applyEnvFile(input)
    const { tree, warnings } = yield* loadSettings(source)
    const context = yield* Effect.context<FileSystem.FileSystem>()
    const reread = Effect.provide(loadSettings(source), context)
    const alone = Effect.provide(serve(reread), Layer.succeed(Settings, tree))
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

const voicegate = root.pipe(
  Command.withHandler(serving),
  Command.withDescription(
    "The gatekeeper between a website's voice widget and its voice agent. Without a command: serve.",
  ),
  Command.withSubcommands([
    Command.make("serve", { processes, printConfig }, (input) =>
      Effect.flatMap(root, ({ config, envFile }) => serving({ ...input, config, envFile })),
    ).pipe(Command.withDescription("Serve the gate")),
    Command.make(
      "demo",
      {
        port: Flag.Int("port").pipe(Flag.withDescription("the preferred port of the page"), Flag.withDefault(8080)),
        allowOrigin: Flag.String("allow-origin").pipe(
          Flag.withDescription(
            "the origin of another page that may call, such as http://localhost:3000; may be repeated",
          ),
          Flag.filter(
            (text) => Option.isSome(originsOf(text)),
            () => "Expected an origin such as http://localhost:3000, without a path",
          ),
          Flag.atLeast(0),
        ),
        vendor: Flag.ChoiceWithValue(
          "vendor",
          VENDORS.map((each) => [each.platform, each] as const),
        ).pipe(
          Flag.withDescription("an agent of another vendor: a fake of that vendor runs in this process"),
          Flag.optional,
        ),
      },
      ({ allowOrigin, port, vendor }) =>
        Effect.gen(function* () {
          if (Option.isSome(vendor)) {
            const { vendorDemo } = yield* Effect.promise(() => import("./demo/vendor.ts"))
            return yield* vendorDemo(vendor.value, port, allowOrigin)
          }
          const { demo } = yield* Effect.promise(() => import("./demo/demo.ts"))
          return yield* demo(port, allowOrigin)
        }).pipe(
          Effect.catchTag("SettingsInvalid", ({ message }) => Effect.andThen(Effect.logFatal(message), exitWith(1))),
        ),
    ).pipe(
      Command.provideEffectDiscard(withoutSettings),
      Command.withDescription("Run the gate, a local platform and a page to call from, offline and without settings"),
    ),
    Command.make(
      "check",
      {
        json: Flag.Boolean("json").pipe(
          Flag.withDescription("one JSON document: ok, checks (name, campaign, status, message), warnings"),
          Flag.withDefault(false),
        ),
        live: Flag.Boolean("live").pipe(
          Flag.withDescription(
            "also start one call of each campaign with its real key, which may cost money, and end it where the gate can",
          ),
          Flag.withDefault(false),
        ),
      },
      (input) =>
        Effect.gen(function* () {
          const { check } = yield* Effect.promise(() => import("./check/check.ts"))
          const sources = yield* root
          yield* applyEnvFile(sources)
          const ok = yield* check(yield* sourceOf(sources), { json: input.json, live: input.live })
          yield* exitWith(ok ? 0 : 1)
        }),
    ).pipe(
      Command.withDescription(
        "Check settings, store, platform, campaign, region, slots, IP provider, keys of identity and receivers of events; exit code 1 when a check fails",
      ),
    ),
    settings.pipe(Command.provideEffectDiscard(withoutSettings)),
    schema.pipe(Command.provideEffectDiscard(withoutSettings)),
    token(Effect.flatMap(root, sourceOf), withoutSettings),
    campaign(Effect.flatMap(root, sourceOf)),
    ticket(Effect.flatMap(root, sourceOf)),
    address(Effect.flatMap(root, sourceOf)),
    events(Effect.flatMap(root, sourceOf)),
    budget(Effect.flatMap(root, sourceOf)),
    forget(Effect.flatMap(root, sourceOf)),
    reload(Effect.flatMap(root, sourceOf)),
    webhook(Effect.flatMap(root, sourceOf)),
    platform.pipe(Command.provideEffectDiscard(withoutSettings)),
  ]),
)

export const run = (args: ReadonlyArray<string>) =>
  Command.runWith(voicegate, { version })(withTicketLast(withTimesAttached(args)))

/** Whether the arguments were refused; help that was not asked for, because a subcommand is missing, counts too. */
export const isWrongUsage = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && CliError.isCliError(Cause.squash(exit.cause))
