/** The books of budgets, and how they are read without changing them. */
import type { Rule } from "../../src/store/Store.ts"
import { type BookRecords, recordsIn } from "../model/budget-steps.ts"
import { type HoldLine, type LedgerLine, ledgerLines } from "../model/budgets.ts"
import type { AnyAsk } from "./did.ts"
import type { World } from "./world.ts"

type Lines = ReadonlyMap<string, LedgerLine>

/** What a book has. Lines are known by `<budget> <window>`. */
export interface Book {
  readonly lines: Lines
  /** of the account; the same as `lines` in a caller's book */
  readonly shared: Lines
  readonly records: BookRecords
}

export const EMPTY: Book = { lines: new Map(), shared: new Map(), records: new Map() }

type Hashes = readonly [ledger: ReadonlyArray<string>, records: ReadonlyArray<string>, shared: ReadonlyArray<string>]

/** Reads a book, by a rule for tests only. Keys: its ledger, its records, and the ledger of its account. */
const bookProbe: Rule<object, object, Hashes> = {
  name: "test.book",
  lua: `local function all(key)
  local found = redis.call('HGETALL', key)
  return #found == 0 and '[]' or cjson.encode(found)
end
return '[[' .. all(KEYS[1]) .. ',' .. all(KEYS[2]) .. ',' .. all(KEYS[3]) .. ']]'`,
  run: (db, [ledger = "", records = "", shared = ""], _now, _context, calls) =>
    calls.map((): Hashes => [[...db.hgetall(ledger)], [...db.hgetall(records)], [...db.hgetall(shared)]]),
  decode: (answer) => answer as Hashes,
  batch: false,
}

const linesIn = (all: ReadonlyArray<string>): Lines => ledgerLines({ hgetall: () => [...all] }, "")

/** Reads the book of a step of the budgets. */
export const readBook = ({ base, kernel }: World, { keys }: AnyAsk, then: (book: Book) => void): void => {
  const [ledger = "", records = "", , shared = ""] = keys
  const asked = { keys: [ledger, records, shared], now: kernel.now, context: {}, call: {} }
  base.run(bookProbe, asked, ([lines, holds, ofAccount]) =>
    then({ lines: linesIn(lines), shared: linesIn(ofAccount), records: recordsIn(holds) }),
  )
}

/** What the holds of a book have, of its account's budgets or of its own. */
export const holdsOf = ({ records }: Book, shared: boolean): ReadonlyArray<HoldLine> =>
  [...records].flatMap(([hold, { parts, settled }]) =>
    parts.flatMap((part) =>
      part.shared === shared ? { hold, shared, line: `${part.name} ${part.from}`, amount: part.amount, settled } : [],
    ),
  )
