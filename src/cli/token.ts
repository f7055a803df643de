/** Prints a new random secret for a setting. */
import { randomBytes } from "node:crypto"
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"

/** 256 bits from the system's random generator: as many as a SHA-256 signature can use. */
const BYTES = 32

const KINDS = {
  operator: { setting: "Security.ConsoleToken", make: () => randomBytes(BYTES).toString("base64url") },
  webhook: { setting: "Security.WebhookApiToken", make: () => randomBytes(BYTES).toString("base64url") },
  signing: {
    setting: "Security.WebhookSigningSecret",
    make: () => `whsec_${randomBytes(BYTES).toString("base64")}`,
  },
}

/** The secret alone goes to standard output, and where it belongs to standard error. */
export const token = Command.make(
  "token",
  {
    kind: Argument.Literals("kind", ["operator", "webhook", "signing"]).pipe(
      Argument.withDescription("operator: the console's token; webhook: X-Api-Token; signing: Standard Webhooks"),
    ),
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("one JSON document: setting, bits, token"),
      Flag.withDefault(false),
    ),
  },
  ({ json, kind }) =>
    Effect.gen(function* () {
      const { make, setting } = KINDS[kind]
      const bits = BYTES * 8
      const token = make()
      if (json) return yield* Console.log(JSON.stringify({ setting, bits, token }))
      yield* Console.log(token)
      yield* Console.error(`For ${setting}: ${bits} random bits. It is not stored.`)
    }),
).pipe(Command.withDescription("Print a new random secret of 256 bits for a setting"))
