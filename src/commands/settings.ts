/** Prints an example of the settings file, or its JSON Schema; its help lists every setting. */
import { randomBytes } from "node:crypto"
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { plainWords, settingRows } from "../settings/table.ts"

const list = settingRows
  .map((row) => `  ${row.path} (${plainWords(row.default)}): ${plainWords(row.description)}`)
  .join("\n")

const newToken = (): string => randomBytes(24).toString("base64url")

/** The command `settings`. What prints is loaded when it runs, so that serving starts without it. */
export const settings = Command.make(
  "settings",
  {
    schema: Flag.Boolean("schema").pipe(
      Flag.withDescription("print the JSON Schema instead, by which an editor completes and checks the file"),
      Flag.withDefault(false),
    ),
  },
  ({ schema }) =>
    Effect.gen(function* () {
      const document = schema
        ? (yield* Effect.promise(() => import("../settings/json-schema.ts"))).jsonSchema()
        : (yield* Effect.promise(() => import("../settings/example.ts"))).exampleSettings(newToken())
      yield* Console.log(JSON.stringify(document, null, 2))
    }),
).pipe(
  Command.withShortDescription(
    "Print an example of the settings file, or its JSON Schema; settings --help lists every setting",
  ),
  Command.withDescription(
    "Print an example of the settings file with every setting: its default, null where it has none, <required> where you must fill in. " +
      "The webhook token in it is a new one.\n\n" +
      `Every setting, with its default:\n\n${list}`,
  ),
)
