/** A ticket by its hash, and below it who calls, where that is known: the subject of a token, or the address. */
import type { JSX } from "preact"

/** The most characters of a caller in a row. */
const SHOWN = 28

/** Also of one that is cut within a character. */
const readable = (subject: string): string => {
  try {
    return decodeURIComponent(subject)
  } catch {
    return subject
  }
}

export const CallerName = ({
  of: { address, subject, ticket },
}: {
  readonly of: { readonly ticket: string; readonly subject?: string; readonly address?: string }
}): JSX.Element => {
  const name = subject === undefined ? address : readable(subject)
  return (
    <>
      <code>{ticket}</code>
      {name !== undefined && (
        <span class="second" title={name}>
          <bdi>{name.length > SHOWN ? `${name.slice(0, SHOWN)}…` : name}</bdi>
        </span>
      )}
    </>
  )
}
