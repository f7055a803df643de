/**
 * What text of a caller may be. Control characters and lone surrogates (halves of a character of UTF-16) are refused: no name
 * or id needs one, PostgreSQL stores neither, and in a log or a terminal they do harm. Runs in the browser too.
 */
import { Schema } from "effect"

/** Text of one line. */
export const Text = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}]*$/u, { expected: "text without control characters and lone surrogates" }),
)

/** Text that may have tabs and line ends (line feed, carriage return). */
export const Lines = Schema.String.check(
  Schema.isPattern(/^(?:[^\p{Cc}\p{Cs}]|[\t\n\r])*$/u, {
    expected: "text without control characters (but tabs and line ends) and lone surrogates",
  }),
)

/** Text as `Lines` allows it: every other character of what was said is replaced by U+FFFD. */
export const toLines = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cs}]/gu, (character) => (/[\t\n\r]/.test(character) ? character : "\ufffd"))
