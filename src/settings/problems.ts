/**
 * Problems of the settings, all reported at once, each with its path, what is expected and what was found. Values that are or
 * contain a secret are never shown.
 */
import { Schema } from "effect"

export const SettingProblem = Schema.Struct({
  /** as the operator writes it: `Security.RateLimitHourly` */
  path: Schema.String,
  expected: Schema.String,
  /** the value (or that it is not shown) and its source; absent when there is no value */
  found: Schema.optionalKey(Schema.String),
})
export type SettingProblem = typeof SettingProblem.Type

const render = ({ path, expected, found }: SettingProblem): string =>
  `  ${path}: expected ${expected}${found === undefined ? "" : `; found ${found}`}`

/** The settings are invalid; the message has one line per problem. */
export class SettingsInvalid extends Schema.TaggedError<SettingsInvalid>()("SettingsInvalid", {
  problems: Schema.Array(SettingProblem),
}) {
  override get message(): string {
    const count = this.problems.length
    return [`The settings have ${count === 1 ? "a problem" : `${count} problems`}:`, ...this.problems.map(render)].join(
      "\n",
    )
  }
}
