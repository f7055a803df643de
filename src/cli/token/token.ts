/** The command `token`: prints a new random secret for a setting, or signs a token that says who calls. */
import { randomBytes } from "node:crypto"
import { Console, Duration, Effect, type FileSystem, Option } from "effect"
import { type CliError, Command, Flag } from "effect/cli"
import { exitWith } from "../../lib/invocation.ts"
import type { SettingsSource } from "../../settings/load.ts"

/** 256 bits from the system's random generator: as many as a SHA-256 signature can use. */
const BYTES = 32

const plain = (): string => randomBytes(BYTES).toString("base64url")

const KINDS = {
  operator: { setting: "Security.ConsoleToken", make: plain, of: "the console's token" },
  webhook: { setting: "Security.WebhookApiToken", make: plain, of: "X-Api-Token of the platform's webhook" },
  signing: {
    setting: "Security.WebhookSigningSecret",
    make: () => `whsec_${randomBytes(BYTES).toString("base64")}`,
    of: "Standard Webhooks",
  },
  "identity-secret": { setting: "Identity.Secrets", make: plain, of: "tokens that say who calls" },
} as const

const json = (members: string) =>
  Flag.Boolean("json").pipe(Flag.withDescription(`one JSON document: ${members}`), Flag.withDefault(false))

/** The secret alone goes to standard output, and where it belongs to standard error. */
const secretOf = (kind: keyof typeof KINDS) => {
  const { make, of, setting } = KINDS[kind]
  return Command.make(kind, { json: json("setting, bits, token") }, (flags) =>
    Effect.gen(function* () {
      const bits = BYTES * 8
      const token = make()
      if (flags.json) return yield* Console.log(JSON.stringify({ setting, bits, token }))
      yield* Console.log(token)
      yield* Console.error(`For ${setting}: ${bits} random bits. It is not stored.`)
    }),
  ).pipe(Command.withDescription(`Print a new random secret of 256 bits for ${setting}: ${of}`))
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 }

/** Such as 10m; undefined if it is no duration of at most a day. */
const durationIn = (text: string): Duration.Duration | undefined => {
  const [, count, unit = ""] = /^([1-9]\d{0,5})([smh])$/.exec(text) ?? []
  const millis = Number(count) * (UNITS[unit] ?? Number.NaN)
  return millis <= 86_400_000 ? Duration.millis(millis) : undefined
}

const limit = (name: string, what: string) =>
  Flag.Int(name).pipe(Flag.withDescription(`${what}; by default as the settings say`), Flag.optional)

const identity = <R>(source: Effect.Effect<SettingsSource, never, R>) =>
  Command.make(
    "identity",
    {
      sub: Flag.String("sub").pipe(Flag.withDescription("who calls: your own id of the customer")),
      campaign: Flag.String("campaign").pipe(
        Flag.withDescription("a campaign that the token is for; may be repeated; by default all"),
        Flag.atLeast(0),
      ),
      limitHour: limit("limit-hour", "how many requests of this customer are accepted in any hour"),
      limitDay: limit("limit-day", "how many requests of this customer are accepted in any day"),
      callSeconds: limit("call-seconds", "how long a call may last"),
      name: Flag.String("name").pipe(Flag.withDescription("the customer's name"), Flag.optional),
      variable: Flag.String("variable").pipe(
        Flag.withDescription("a dynamic variable, as name=value; may be repeated"),
        Flag.filter(
          (text) => /^[^=]+=/s.test(text),
          () => "Expected name=value",
        ),
        Flag.atLeast(0),
      ),
      expires: Flag.String("expires").pipe(
        Flag.withDescription("how long the token lives, such as 30s, 10m or 24h, which is the most"),
        Flag.withDefault("10m"),
        Flag.filterMap(
          (text) => Option.fromUndefinedOr(durationIn(text)),
          () => "Expected a time such as 30s, 10m or 2h, at most 24h",
        ),
      ),
      json: json("sub, jti, expires, token"),
    },
    ({ json, ...given }): Effect.Effect<void, CliError.CliError, R | FileSystem.FileSystem> =>
      Effect.gen(function* () {
        const { signIdentity } = yield* Effect.promise(() => import("./sign-identity.ts"))
        const signed = yield* signIdentity(yield* source, {
          ...given,
          callSeconds: Option.getOrUndefined(given.callSeconds),
          limitDay: Option.getOrUndefined(given.limitDay),
          limitHour: Option.getOrUndefined(given.limitHour),
          name: Option.getOrUndefined(given.name),
        })
        if (json) return yield* Console.log(JSON.stringify(signed))
        yield* Console.log(signed.token)
        yield* Console.error(
          `Of ${JSON.stringify(signed.sub)}, until ${signed.expires}. It lets whoever has it call as this customer.`,
        )
      }).pipe(Effect.catch(({ message }) => Effect.andThen(Console.error(message), exitWith(1)))),
  ).pipe(
    Command.withDescription(
      "Sign a token that says who calls, with the first of Identity.Secrets of the settings, and print it: to try identity, and for scripts",
    ),
  )

/** @param withoutSettings refuses the flags of settings for a command that reads none */
export const token = <R, R2>(
  source: Effect.Effect<SettingsSource, never, R>,
  withoutSettings: Effect.Effect<void, CliError.CliError, R2>,
) =>
  Command.make("token").pipe(
    Command.withDescription("Print a new random secret for a setting, or sign a token that says who calls"),
    Command.withSubcommands([
      secretOf("operator").pipe(Command.provideEffectDiscard(withoutSettings)),
      secretOf("webhook").pipe(Command.provideEffectDiscard(withoutSettings)),
      secretOf("signing").pipe(Command.provideEffectDiscard(withoutSettings)),
      secretOf("identity-secret").pipe(Command.provideEffectDiscard(withoutSettings)),
      identity(source),
    ]),
  )
