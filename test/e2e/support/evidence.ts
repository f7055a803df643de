/**
 * Evidence of a run: with `EVIDENCE=<directory>` every exchange and measurement that a test
 * notes is appended to `<directory>/<topic>.txt`; without it nothing is written.
 */
import { appendFileSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { type Answer, field } from "../../harness/http.ts"

const directory = process.env.EVIDENCE

/** Appends one line. */
export const note = (topic: string, line: string): void => {
  if (directory === undefined || directory === "") return
  mkdirSync(directory, { recursive: true })
  appendFileSync(join(directory, `${topic}.txt`), `${line}\n`)
}

const SHOWN = ["retry-after", "ratelimit-policy", "ratelimit", "allow", "vary", "access-control-allow-origin"]

/** Appends an exchange as it went over the wire: what was done, status, code, words, headers; and answers it. */
export const noted = (topic: string, what: string, answer: Answer): Answer => {
  const headers = SHOWN.flatMap((name) =>
    answer.headers[name] === undefined ? [] : [`${name}: ${answer.headers[name]}`],
  )
  const code = field(answer, "code") ?? field(answer, "status") ?? ""
  const reason = field(answer, "reason")
  const said = [code, ...(reason === undefined ? [] : [`(${reason})`])].join(" ")
  const words =
    field(answer, "message") ?? (answer.status < 300 ? answer.text.replace(/"[A-Za-z0-9_-]{26}"/g, '"…"') : "")
  note(topic, [what.padEnd(58), answer.status, said.padEnd(24), words, headers.join(" · ")].join(" | "))
  return answer
}
