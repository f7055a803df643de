/** Prints an example settings file or the JSON Schema; `--help` lists every setting. */
import { randomBytes } from "node:crypto"
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { plainText, settingRows } from "../settings/showing/table.ts"

const list = settingRows
  .map((row) => `  ${row.path} (${plainText(row.default)}): ${plainText(row.description)}`)
  .join("\n")

const newToken = (): string => randomBytes(24).toString("base64url")

const printSchema = Effect.gen(function* () {
  const { jsonSchema } = yield* Effect.promise(() => import("../settings/showing/json-schema.ts"))
  yield* Console.log(JSON.stringify(jsonSchema(), null, 2))
})

/** The command `schema`: the same as `settings --schema`. */
export const schema = Command.make("schema", {}, () => printSchema).pipe(
  Command.withDescription("Print the JSON Schema of the settings file (settings.schema.json)"),
)

/** It loads its modules when it runs, so that serving starts fast. */
export const settings = Command.make(
  "settings",
  {
    schema: Flag.Boolean("schema").pipe(
      Flag.withDescription("print the JSON Schema instead, which an editor uses to complete and check the file"),
      Flag.withDefault(false),
    ),
  },
  ({ schema }) =>
    Effect.gen(function* () {
      if (schema) return yield* printSchema
      const { exampleSettings } = yield* Effect.promise(() => import("../settings/showing/example.ts"))
      yield* Console.log(JSON.stringify(exampleSettings(newToken()), null, 2))
    }),
).pipe(
  Command.withShortDescription(
    "Print an example settings file or its JSON Schema; settings --help lists every setting",
  ),
  Command.withDescription(
    "Print an example settings file with every setting: its default, null when it has none, <required> when you must fill it in. " +
      "It contains a newly generated webhook token.\n\n" +
      `Every setting, with its default:\n\n${list}`,
  ),
)
