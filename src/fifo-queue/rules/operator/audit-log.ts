/** The audit log: one line for each action of an operator, written in the same step. */

import { decode, encode, isNumber, isObject, isText } from "../../../store/rules/native.ts"
import type { AuditLine } from "../../answers.ts"
import { shortHash } from "../../short-hash.ts"
import type { Step } from "../shared/step.ts"
import type { Ticket } from "../shared/ticket.ts"

export const AUDIT_LOG_MAX = 1_000

export const addAuditLine = (
  s: Step,
  who: string,
  action: string,
  target: string,
  result: string,
  changes?: string,
): void => {
  const n = s.db.hincrby(s.keys.meta, "auditLog", 1)
  const line = { n, at: s.now, who, action, target, result }
  s.db.zadd(s.keys.auditLog, n, encode(changes === undefined ? line : { ...line, changes }))
  s.db.zkeepLast(s.keys.auditLog, AUDIT_LOG_MAX)
}

/** The short hash of the ticket that holds a slot; of a start that was or is in doubt, that of the ticket that was started. */
export const hashOfHolder = (id: string, ticket: Ticket): string => shortHash(ticket.ticket ?? id)

const lineOf = (text: string): AuditLine | undefined => {
  const line = decode(text)
  if (!isObject(line)) return undefined
  const { action, at, changes, n, result, target, who } = line
  if (!isNumber(n) || !isNumber(at) || !isText(who) || !isText(action) || !isText(target) || !isText(result))
    return undefined
  const known = { n, at, who, action, target, result }
  return isText(changes) ? { ...known, changes } : known
}

/** A page of lines, newest first, and the number of all lines. */
export const auditLog = (
  s: Step,
  { count, first }: { readonly count: number; readonly first: number },
): { readonly total: number; readonly lines?: ReadonlyArray<AuditLine> } => {
  const total = s.db.zcard(s.keys.auditLog)
  const last = Math.max(0, total - first)
  const from = Math.max(0, last - count)
  const lines: Array<AuditLine> = []
  const texts = s.db.zrange(s.keys.auditLog, from, last - from)
  for (let i = texts.length - 1; i >= 0; i--) {
    const line = lineOf(texts[i] ?? "")
    if (line !== undefined) lines.push(line)
  }
  return lines.length === 0 ? { total } : { total, lines }
}
