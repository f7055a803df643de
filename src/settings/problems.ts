/**
 * What is wrong with the settings: all of it at once, each with its path, what is expected and what was found. The value of
 * a secret is never shown, nor any other value that contains one.
 */
import { Schema } from "effect"

export const SettingProblem = Schema.Struct({
  /** as the operator writes it: `Security.RateLimitHourly` */
  path: Schema.String,
  expected: Schema.String,
  /** the value and where it stands, or why it is not shown; absent when there is none */
  found: Schema.optionalKey(Schema.String),
})
export type SettingProblem = typeof SettingProblem.Type

const render = ({ path, expected, found }: SettingProblem): string =>
  `  ${path}: expected ${expected}${found === undefined ? "" : `; found ${found}`}`

/** The settings cannot be used; the message has one line a problem. */
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
