/**
 * The command `webhook test`: sends a session-ended webhook with each configured secret to a running gate, and says what it answers. The
 * session is invented, so no slot is freed.
 */
import { Console, Effect, type FileSystem, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { exitWith } from "../../lib/invocation.ts"
import type { SettingsSource } from "../../settings/load.ts"
import { baseUrl } from "../../settings/values/network.ts"

const decodeUrl = Schema.decodeUnknownOption(baseUrl)

export const webhook = <R>(source: Effect.Effect<SettingsSource, never, R>) =>
  Command.make("webhook").pipe(
    Command.withDescription("Webhooks of the platform"),
    Command.withSubcommands([
      Command.make(
        "test",
        {
          url: Flag.String("url").pipe(
            Flag.withDescription(
              "the gate's address, as the platform reaches it; by default http:// with Server.Host and Server.Port of the settings",
            ),
            Flag.filterMap(decodeUrl, () => "Expected an http or https URL without user, query and fragment"),
            Flag.optional,
          ),
          json: Flag.Boolean("json").pipe(
            Flag.withDescription("one JSON document: ok, url, sent (secret, ok, status, message)"),
            Flag.withDefault(false),
          ),
        },
        ({ json, url }): Effect.Effect<void, never, R | FileSystem.FileSystem> =>
          Effect.gen(function* () {
            const { testWebhook } = yield* Effect.promise(() => import("./run.ts"))
            const tested = yield* testWebhook(yield* source, Option.getOrUndefined(url))
            const lines = tested.sent.map(
              ({ message, ok, secret }) => `${ok ? "ok    " : "failed"} ${secret}: ${message}`,
            )
            yield* Console.log(json ? JSON.stringify(tested, null, 2) : [tested.url, ...lines].join("\n"))
            if (!tested.ok) yield* exitWith(1)
          }).pipe(Effect.catch(({ message }) => Effect.andThen(Console.error(message), exitWith(1)))),
      ).pipe(
        Command.withDescription(
          "Send a session-ended webhook with each secret of the settings (Security.WebhookApiToken, Security.WebhookSigningSecret) to a running gate, and say how it answers; exit code 1 when it refuses one. The session is invented, so no slot is freed. Run it where the platform is, with --url, to see what proxies do",
        ),
      ),
    ]),
  )
