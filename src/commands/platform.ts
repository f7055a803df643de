/**
 * The platform's side on its own: `platform` serves it, `platform user add` makes somebody who can sign in. Every flag can be set
 * in the environment too, which is where a connection string with a password belongs.
 */
import { randomBytes } from "node:crypto"
import { text as readAll } from "node:stream/consumers"
import { Config, Console, Effect, Layer, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { IpNetwork } from "effect/net"
import { DEFAULT_LIMITS } from "../platform/Access.ts"
import { Businesses } from "../platform/Businesses.ts"
import { checkUrl } from "../platform/data/Database.ts"
import * as Platform from "../platform/Platform.ts"
import * as Services from "../platform/services.ts"
import { DEFAULT_CALL_CONCURRENCY, Users } from "../platform/Users.ts"
import { vaultKeyOf } from "../platform/vault-key.ts"

const DATABASE = "VOICEGATE_PLATFORM_DATABASE"
const VAULT_KEY = "VOICEGATE_PLATFORM_VAULT_KEY"
const PASSWORD = "VOICEGATE_PLATFORM_PASSWORD"

const storage = {
  database: Flag.Redacted("database").pipe(
    Flag.withDescription(`sqlite:<file>, or postgres://…; also ${DATABASE}`),
    Flag.withFallbackConfig(Config.Redacted(DATABASE)),
    Flag.withDefault(Redacted.make("sqlite:voicegate-platform.db")),
  ),
  vaultKeyFile: Flag.File("vault-key-file").pipe(
    Flag.withDescription(
      `what secrets in the database are sealed with, made when absent; beside a SQLite file when not said; the key itself can be in ${VAULT_KEY}`,
    ),
    Flag.optional,
  ),
}

const serving = {
  host: Flag.String("host").pipe(Flag.withDescription("the address to listen on"), Flag.withDefault("127.0.0.1")),
  port: Flag.Int("port").pipe(Flag.withDescription("the port to listen on"), Flag.withDefault(8090)),
  region: Flag.String("region").pipe(
    Flag.withDescription("a region that sessions may be started in; may be repeated"),
    Flag.atLeast(0),
  ),
  publicWebSocketOrigin: Flag.String("public-websocket-origin").pipe(
    Flag.withDescription("where browsers reach this platform's WebSockets, such as wss://calls.example"),
    Flag.optional,
  ),
  privateWebhooks: Flag.Boolean("private-webhooks").pipe(
    Flag.withDescription("let webhooks go to private networks and this machine"),
    Flag.withDefault(false),
  ),
  trustedProxy: Flag.String("trusted-proxy").pipe(
    Flag.withDescription("a network (CIDR) whose X-Forwarded-For is believed; may be repeated"),
    Flag.mapTryCatch(
      (text) => IpNetwork.fromStringUnsafe(text),
      () => "Expected a network such as 10.0.0.0/8",
    ),
    Flag.atLeast(0),
  ),
  requestsPerMinute: Flag.Int("requests-per-minute").pipe(
    Flag.withDescription("of one key; 0 is no limit"),
    Flag.withDefault(DEFAULT_LIMITS.requestsPerMinute),
  ),
  startsPerMinute: Flag.Int("starts-per-minute").pipe(
    Flag.withDescription("of one key, sessions and calls; 0 is no limit"),
    Flag.withDefault(DEFAULT_LIMITS.startsPerMinute),
  ),
}

type Storage = {
  readonly database: Redacted.Redacted<string>
  readonly vaultKeyFile: Option.Option<string>
}

/** The connection string and the vault's key, both checked as far as they can be without a connection. */
const storageOf = Effect.fnUntraced(function* ({ database, vaultKeyFile }: Storage) {
  yield* checkUrl(database)
  const given = yield* Config.option(Config.Redacted(VAULT_KEY))
  const file = Option.getOrUndefined(vaultKeyFile)
  return { database, vaultKey: yield* vaultKeyOf({ database, key: Option.getOrUndefined(given), file }) }
})

/** What stops a command is said in one line, and its exit code is 1. */
const orExplain = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catch(effect, ({ message }) =>
    Effect.andThen(
      Console.error(message),
      Effect.sync(() => {
        process.exitCode = 1
      }),
    ),
  )

const announce = (regions: ReadonlyArray<string>) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { origin } = yield* Platform.Platform
      const businesses = yield* Businesses
      yield* Effect.forEach(regions, (id) => businesses.putRegion({ id, name: id }), { discard: true })
      const known = yield* businesses.regions
      if (known.length === 0) yield* Effect.logWarning("no session can be started: there is no region (--region)")
      yield* Effect.logInfo(`the platform listens at ${origin}/api/v1/, described at ${origin}/docs`)
    }),
  )

const serve = Command.make("platform", { ...storage, ...serving }, (input) =>
  orExplain(
    Effect.gen(function* () {
      const options: Platform.Options = {
        ...(yield* storageOf(input)),
        host: input.host,
        port: input.port,
        privateWebhooks: input.privateWebhooks,
        trustedProxies: input.trustedProxy,
        limits: { requestsPerMinute: input.requestsPerMinute, startsPerMinute: input.startsPerMinute },
        ...(Option.isSome(input.publicWebSocketOrigin) && { publicWebSocketOrigin: input.publicWebSocketOrigin.value }),
      }
      return yield* Layer.launch(announce(input.region).pipe(Layer.provide(Platform.layer(options))))
    }),
  ),
)

/** The password from the environment or standard input, or a new one that is shown. */
const passwordOf = Effect.fnUntraced(function* (fromStdin: boolean) {
  const given = yield* Config.option(Config.Redacted(PASSWORD))
  if (fromStdin) {
    const line = yield* Effect.promise(() => readAll(process.stdin))
    return { password: Redacted.make(line.replace(/\r?\n$/, "")), shown: false }
  }
  return Option.isSome(given)
    ? { password: given.value, shown: false }
    : { password: Redacted.make(randomBytes(18).toString("base64url")), shown: true }
})

const addUser = Command.make(
  "add",
  {
    ...storage,
    email: Flag.String("email").pipe(Flag.withDescription("what the user signs in with")),
    name: Flag.String("name").pipe(Flag.withDescription("the e-mail address when not said"), Flag.optional),
    concurrency: Flag.Int("concurrency").pipe(
      Flag.withDescription("calls that may run at once"),
      Flag.withDefault(DEFAULT_CALL_CONCURRENCY),
    ),
    passwordStdin: Flag.Boolean("password-stdin").pipe(
      Flag.withDescription(`read the password from standard input; else it is ${PASSWORD}, or made up and shown`),
      Flag.withDefault(false),
    ),
  },
  (input) =>
    orExplain(
      Effect.gen(function* () {
        const { password, shown } = yield* passwordOf(input.passwordStdin)
        const services = Services.layer({ ...(yield* storageOf(input)), privateWebhooks: false })
        const user = yield* Effect.flatMap(Users, (users) =>
          users.create({
            email: input.email,
            name: Option.getOrElse(input.name, () => input.email),
            callConcurrency: input.concurrency,
            password,
          }),
        ).pipe(Effect.provide(services))
        yield* Console.log(`user ${user.id} ${user.email}`)
        if (shown) yield* Console.log(`password (shown once): ${Redacted.value(password)}`)
      }),
    ),
).pipe(Command.withDescription("Make a user who can sign in to the dashboard"))

/** `platform` and `platform user add`. */
export const platform = serve.pipe(
  Command.withDescription("Serve the platform's side: users, businesses, API keys, sessions, and its REST API"),
  Command.withSubcommands([
    Command.make("user").pipe(Command.withDescription("The platform's users"), Command.withSubcommands([addUser])),
  ]),
)
