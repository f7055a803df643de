/** A ticket by its hash, and who calls where that is known. */
import type { JSX } from "preact"

/** The most characters of a subject in a row. */
const SHOWN = 24

/** Also of one that is cut within a character. */
const readable = (subject: string): string => {
  try {
    return decodeURIComponent(subject)
  } catch {
    return subject
  }
}

export const TicketName = ({
  subject,
  ticket,
}: {
  readonly ticket: string
  readonly subject?: string | undefined
}): JSX.Element => {
  if (subject === undefined) return <code>{ticket}</code>
  const name = readable(subject)
  return (
    <>
      <code>{ticket}</code>
      <span class="more" title={name}>{` ${name.length > SHOWN ? `${name.slice(0, SHOWN)}…` : name}`}</span>
    </>
  )
}
