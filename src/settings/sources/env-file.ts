/** Lines of a file of environment variables that Node's parser would ignore in silence. No message repeats any of its text. */
import type { SettingProblem } from "../problems.ts"

const ASSIGNMENT = /^\s*(?:export\s+)?([^\s=#'"`]+)\s*=\s*(.*)$/

/** The quote of a value that goes on in the next line; undefined when the value ends in its own. */
const openQuote = (value: string): string | undefined => {
  const quote = /^["'`]/.exec(value)?.[0]
  return quote === undefined || value.indexOf(quote, 1) > 0 ? undefined : quote
}

/** Reports each line that is neither a variable, nor a comment, nor empty; a name that is set twice; and a quote that is not closed. */
export const problemsOfEnvFile = (file: string, text: string): ReadonlyArray<SettingProblem> => {
  const problems: Array<SettingProblem> = []
  const seen = new Map<string, number>()
  let open: { readonly quote: string; readonly line: number } | undefined
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const number = index + 1
    const report = (expected: string, found?: string): void => {
      problems.push({ path: `${file} line ${number}`, expected, ...(found === undefined ? {} : { found }) })
    }
    if (open !== undefined) {
      if (line.includes(open.quote)) open = undefined
      continue
    }
    if (/^\s*(?:#|$)/.test(line)) continue
    const [, name, value = ""] = ASSIGNMENT.exec(line) ?? []
    if (name === undefined) {
      report("NAME=value, a comment that begins with #, or an empty line")
      continue
    }
    const other = seen.get(name)
    if (other !== undefined) report(`${name} once: of two, the last one would count`, `it in line ${other} too`)
    seen.set(name, number)
    const quote = openQuote(value)
    if (quote !== undefined) open = { quote, line: number }
  }
  if (open !== undefined) {
    problems.push({ path: `${file} line ${open.line}`, expected: `a value whose quote ${open.quote} is closed` })
  }
  return problems
}
