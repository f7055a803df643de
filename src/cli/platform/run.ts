/** Implements the commands of `platform.ts`. */
import { randomBytes } from "node:crypto"
import { text as readAll } from "node:stream/consumers"
import { Config, Console, Effect, Layer, Option, Redacted } from "effect"
import type { IpNetwork } from "effect/net"
import { exitWith } from "../../lib/invocation.ts"
import { Businesses } from "../../platform/businesses/Businesses.ts"
import { checkUrl } from "../../platform/data/Database.ts"
import { vaultKeyOf } from "../../platform/data/vault-key.ts"
import { refuse } from "../../platform/model.ts"
import * as Platform from "../../platform/Platform.ts"
import * as Services from "../../platform/services.ts"
import { Users } from "../../platform/users/Users.ts"
import { PASSWORD, VAULT_KEY } from "./flags.ts"

export interface Storage {
  readonly database: Redacted.Redacted<string>
  readonly vaultKeyFile: Option.Option<string>
}

/** The connection string and the vault's key, validated without connecting. */
const storageOf = Effect.fnUntraced(function* ({ database, vaultKeyFile }: Storage) {
  yield* checkUrl(database)
  const given = yield* Config.option(Config.Redacted(VAULT_KEY))
  const file = Option.getOrUndefined(vaultKeyFile)
  return { database, vaultKey: yield* vaultKeyOf({ database, key: Option.getOrUndefined(given), file }) }
})

/** Logs a failure in one line and sets the exit code to 1. */
export const reportFailure = <A, E extends { readonly message: string }, R>(
  effect: Effect.Effect<A, E, R>,
  log: (message: string) => Effect.Effect<void> = Console.error,
) => Effect.catch(effect, ({ message }) => Effect.andThen(log(message), exitWith(1)))

const announce = (regions: ReadonlyArray<string>) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { origin } = yield* Platform.Platform
      const businesses = yield* Businesses
      const users = yield* Users
      yield* Effect.forEach(regions, (id) => businesses.putRegion({ id, name: id }), { discard: true })
      const known = yield* businesses.regions
      if (known.length === 0)
        yield* Effect.logWarning("no session can be started, because there is no region: set --region")
      if ((yield* users.list).length === 0)
        yield* Effect.logWarning("nobody can sign in, because there is no user: voicegate platform user add --email …")
      yield* Effect.logInfo(
        `the platform listens at ${origin}/, where its dashboard is; the API is below ${origin}/api/v1/, its documentation at ${origin}/docs`,
      )
    }),
  )

interface Serving extends Storage {
  readonly host: string
  readonly port: number
  readonly region: ReadonlyArray<string>
  readonly publicWebSocketOrigin: Option.Option<string>
  readonly privateWebhooks: boolean
  readonly trustedProxy: ReadonlyArray<IpNetwork.IpNetwork>
  readonly clientAddressHeader: string
  readonly connectionsPerAddress: number
  readonly allowedHost: ReadonlyArray<string>
  readonly requestsPerMinute: number
  readonly startsPerMinute: number
  readonly idleSeconds: number
}

export const servePlatform = (input: Serving) =>
  reportFailure(
    Effect.gen(function* () {
      const options: Platform.Options = {
        ...(yield* storageOf(input)),
        host: input.host,
        port: input.port,
        privateWebhooks: input.privateWebhooks,
        trustedProxies: input.trustedProxy,
        clientAddressHeader: input.clientAddressHeader,
        connectionsPerAddress: input.connectionsPerAddress,
        idleSeconds: input.idleSeconds,
        allowedHosts: input.allowedHost,
        limits: { requestsPerMinute: input.requestsPerMinute, startsPerMinute: input.startsPerMinute },
        ...(Option.isSome(input.publicWebSocketOrigin) && { publicWebSocketOrigin: input.publicWebSocketOrigin.value }),
      }
      return yield* Layer.launch(announce(input.region).pipe(Layer.provide(Platform.layer(options))))
    }),
    Effect.logFatal,
  )

/** The password from the environment or standard input, or a generated one, which is then printed. */
const passwordOf = Effect.fnUntraced(function* (fromStdin: boolean) {
  const given = yield* Config.option(Config.Redacted(PASSWORD))
  if (fromStdin) {
    const line = yield* Effect.promise(() => readAll(process.stdin))
    return { password: Redacted.make(line.replace(/\r?\n$/, "")), generated: false }
  }
  return Option.isSome(given)
    ? { password: given.value, generated: false }
    : { password: Redacted.make(randomBytes(18).toString("base64url")), generated: true }
})

interface NewUser extends Storage {
  readonly email: string
  readonly name: Option.Option<string>
  readonly concurrency: number
  readonly passwordStdin: boolean
}

/** Creates a user, and prints a generated password. */
export const addUser = (input: NewUser) =>
  reportFailure(
    Effect.gen(function* () {
      const { password, generated: shown } = yield* passwordOf(input.passwordStdin)
      const user = yield* withUsers(input, ({ create }) =>
        create({
          email: input.email,
          name: Option.getOrElse(input.name, () => input.email),
          callConcurrency: input.concurrency,
          password,
        }),
      )
      yield* Console.log(`user ${user.id} ${user.email}`)
      if (shown) yield* Console.log(`password (shown once): ${Redacted.value(password)}`)
    }),
  )

/** Runs against the database of a platform, which may be running at the same time. */
export const withServices = Effect.fnUntraced(function* <A, E>(
  input: Storage,
  effect: Effect.Effect<A, E, Services.Services>,
) {
  const services = Services.layer({ ...(yield* storageOf(input)), privateWebhooks: false })
  return yield* Effect.provide(effect, services)
})

const withUsers = <A, E>(input: Storage, use: (users: Users["Service"]) => Effect.Effect<A, E>) =>
  withServices(input, Effect.flatMap(Users, use))

export const idOf = (users: Users["Service"], email: string) =>
  Effect.flatMap(users.account(email), (account) =>
    account === undefined
      ? Effect.fail(refuse("not_found", "USER_NOT_FOUND", `no user has the e-mail address ${email}`))
      : Effect.succeed(account.user.id),
  )

/** Prints one line per user with tab-separated columns: e-mail address, id, state, name. */
export const listUsers = (input: Storage) =>
  reportFailure(
    Effect.gen(function* () {
      const all = yield* withUsers(input, ({ list }) => list)
      for (const { disabled, email, id, name } of all) {
        yield* Console.log([email ?? "-", id, disabled ? "disabled" : "enabled", name].join("\t"))
      }
    }),
  )

interface WithPassword extends Storage {
  readonly email: string
  readonly passwordStdin: boolean
}

/** Sets a password without the old one, and prints a generated password. */
export const setPassword = (input: WithPassword) =>
  reportFailure(
    Effect.gen(function* () {
      const { password, generated: shown } = yield* passwordOf(input.passwordStdin)
      yield* withUsers(input, (users) =>
        Effect.flatMap(idOf(users, input.email), (id) =>
          users.setPassword(id, password, "by command; all sign-ins were ended"),
        ),
      )
      yield* Console.log(`changed the password of ${input.email} and ended all sign-ins`)
      if (shown) yield* Console.log(`password (shown once): ${Redacted.value(password)}`)
    }),
  )

export const setDisabled = (input: Storage & { readonly email: string }, disabled: boolean) =>
  reportFailure(
    Effect.gen(function* () {
      yield* withUsers(input, (users) =>
        Effect.flatMap(idOf(users, input.email), (id) => users.setDisabled(id, disabled)),
      )
      yield* Console.log(
        disabled
          ? `${input.email} is disabled: signed out everywhere; the user's keys are refused within 30 s`
          : `${input.email} is enabled`,
      )
    }),
  )
