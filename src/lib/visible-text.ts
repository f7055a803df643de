/**
 * Which characters a name or an id may have, at the gate and the local platform. Refused are those that nobody sees: two names that look
 * the same would be two, and a name could turn the text round it. Runs in the browser too.
 */

/** Characters without a glyph that words and emoji need: joiners of letters and of emoji, and their variants. */
const JOINERS = "\\u200c\\u200d\\ufe00-\\ufe0f"

/** Control characters, lone surrogates, line separators, and all that Unicode lets no font show, bidirectional controls included. */
const UNSEEN = "\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb"

/** A text of one line, of characters that can be seen. */
export const VISIBLE: RegExp = new RegExp(`^(?:[^${UNSEEN}]|[${JOINERS}])*$`, "u")
export const VISIBLE_EXPECTED = "text without control characters, invisible and bidirectional ones, and lone surrogates"

/** At least one character that is no space and no joiner. */
export const NOT_BLANK: RegExp = new RegExp(`[^\\s${JOINERS}]`, "u")

/** The one form of a text that can be written in several: é is one character or e with an accent (Unicode's form NFC). */
export const oneForm = (text: string): string => text.normalize("NFC")
