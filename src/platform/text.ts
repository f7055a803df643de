/**
 * Schemas for text from callers. Control characters and lone surrogates are refused: no name or id needs them, PostgreSQL stores
 * neither, and they are harmful in a log or a terminal. Names and ids have no invisible characters either. Runs in the browser too.
 */
import { Schema } from "effect"
import { NOT_BLANK, VISIBLE, VISIBLE_EXPECTED } from "../lib/visible-text.ts"

/** Single-line text: names, ids, addresses. */
export const Text = Schema.String.check(Schema.isPattern(VISIBLE, { expected: VISIBLE_EXPECTED }))

export const NameText = Text.check(Schema.isPattern(NOT_BLANK, { expected: "a character that can be seen" }))

/** Text that may contain tabs and line ends (line feed, carriage return). */
export const Lines = Schema.String.check(
  Schema.isPattern(/^(?:[^\p{Cc}\p{Cs}]|[\t\n\r])*$/u, {
    expected: "text without control characters (except tabs and line ends) and lone surrogates",
  }),
)

/** Replaces every character that `Lines` does not allow by U+FFFD. */
export const toLines = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cs}]/gu, (character) => (/[\t\n\r]/.test(character) ? character : "\ufffd"))
