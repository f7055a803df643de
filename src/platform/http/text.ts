/**
 * Schemas for text from callers. Control characters and lone surrogates are refused: no name or id needs them, PostgreSQL stores
 * neither, and they are harmful in a log or a terminal. Runs in the browser too.
 */
import { Schema } from "effect"

/** Single-line text. */
export const Text = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}\p{Cs}]*$/u, { expected: "text without control characters and lone surrogates" }),
)

/** Text that may contain tabs and line ends (line feed, carriage return). */
export const Lines = Schema.String.check(
  Schema.isPattern(/^(?:[^\p{Cc}\p{Cs}]|[\t\n\r])*$/u, {
    expected: "text without control characters (except tabs and line ends) and lone surrogates",
  }),
)

/** Replaces every character that `Lines` does not allow by U+FFFD. */
export const toLines = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cs}]/gu, (character) => (/[\t\n\r]/.test(character) ? character : "\ufffd"))
