/** Settings, mostly secrets, in files that variables with `__File` name. */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { loadSettings } from "../../../src/settings/load.ts"
import { inDirectory, KEY, minimal, values } from "../support.ts"

describe("secrets in files", () => {
  const environment = {
    ...Object.fromEntries(
      Object.entries(minimal.VoiceAiPlatform).map(([name, value]) => [`VoiceAiPlatform__${name}`, value]),
    ),
  }
  const SECRET = "a-webhook-token-in-a-file"

  it.effect("are read for every variable that ends in __File, items of lists included", () =>
    Effect.gen(function* () {
      const files = { token: `${SECRET}\n`, key: KEY, ".env": "Server__Port=91\nSecurity__RateLimitHourly=5\n" }
      const { VoiceAiPlatform__ApiSecretToken: _, ...rest } = environment
      const { tree } = yield* inDirectory(files, (cwd) =>
        loadSettings({
          env: {
            ...rest,
            VoiceAiPlatform__ApiSecretToken__FILE: `${cwd}/key`,
            Security__WebhookApiToken__0__File: "token",
            Security__RateLimitHourly: "6",
          },
          envFile: ".env",
          cwd,
        }),
      )
      assert.deepStrictEqual(values(tree.Security.WebhookApiToken), [SECRET])
      assert.strictEqual(Redacted.value(tree.Campaigns[0].ApiSecretToken), KEY)
      assert.strictEqual(tree.Server.Port, 91)
      assert.strictEqual(tree.Security.RateLimitHourly, 6)
    }),
  )

  it.effect("secrets in files that are missing or empty, or set a second time, are problems, all at once", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        inDirectory({ empty: "\n" }, (cwd) =>
          loadSettings({
            env: {
              ...environment,
              Security__WebhookApiToken__File: "none",
              Security__ConsoleToken__File: "empty",
              VoiceAiPlatform__ApiSecretToken__File: "empty",
            },
            cwd,
          }),
        ),
      )
      const [, missing = "", ...others] = error.message.split("\n")
      assert.match(
        missing,
        /^ {2}Security__WebhookApiToken__File: expected a file that can be read; there is none at \/.+\/none$/,
      )
      assert.deepStrictEqual(others, [
        "  Security__ConsoleToken__File: expected a file with a value; it is empty",
        "  VoiceAiPlatform__ApiSecretToken__File: expected either VoiceAiPlatform__ApiSecretToken__File or VoiceAiPlatform__ApiSecretToken, and both are set",
      ])
      assert.notInclude(JSON.stringify(error), KEY)
    }),
  )

  it.effect("are read only where reading ends: no directory, no device, no pipe and no huge file", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        inDirectory({ large: "x".repeat(1024 * 1024 + 1) }, (cwd) => {
          execFileSync("mkfifo", [join(cwd, "pipe")])
          return loadSettings({
            env: {
              ...environment,
              Security__WebhookSigningSecret__File: ".",
              Security__ConsoleToken__File: "/dev/zero",
              Queue__MaxLength__File: "pipe",
              IpIntel__ApiKey__File: "large",
            },
            cwd,
          })
        }),
      )
      assert.deepStrictEqual(error.message.split("\n").slice(1), [
        "  Security__WebhookSigningSecret__File: expected a file; it is a directory",
        "  Security__ConsoleToken__File: expected a regular file; pipes and devices are not read",
        "  Queue__MaxLength__File: expected a regular file; pipes and devices are not read",
        "  IpIntel__ApiKey__File: expected a file of at most 1048576 bytes; it is larger",
      ])
    }),
  )

  it.effect("have no place for a name that is no setting", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        inDirectory({}, (cwd) => loadSettings({ env: { ...environment, Security__WebhokApiToken__File: "x" }, cwd })),
      )
      assert.include(error.message, "Security.WebhokApiToken.File: expected a known setting")
    }),
  )
})
