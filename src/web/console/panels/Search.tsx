/**
 * Finds a caller by the hash of the ticket, which the lists, the activity log and the gate's log lines show, or by address or signed subject.
 */
import type { JSX } from "preact"
import { useRef, useState } from "preact/hooks"
import type { Found, FoundTicket } from "../../../operator/shapes.ts"
import { announce } from "../../shared/parts/announce.ts"
import { Field } from "../../shared/parts/form.tsx"
import { type Client, messageOf } from "../client.ts"
import { OUTCOME_MILLIS } from "../outcomes.ts"
import { isAddress, soughtBy } from "../sought.ts"
import { useLate } from "../use-late.ts"
import { count, slotState } from "../words.ts"

/** Moves the focus to the field. */
export const focusSearch = (): void => document.querySelector<HTMLInputElement>(".search input")?.focus()

const whereOf = ({ position, state }: FoundTicket): string => {
  if (state !== "waiting") return slotState[state].toLowerCase()
  return position === undefined ? "in the queue" : `number ${count(position)} in the queue`
}

/** The tickets found before and now; pages overlap, so a ticket may be found twice. */
const joined = (before: Found["found"], now: Found["found"]): Found["found"] => {
  const keyOf = ({ campaign, ticket }: FoundTicket): string => `${campaign} ${ticket}`
  return [...new Map([...before, ...now].map((each) => [keyOf(each), each])).values()]
}

const saying = ({ found, next }: Found): string => {
  if (found.length > 0) return `${found.length} found.`
  return next === undefined
    ? "No one like this is waiting or in a call."
    : "Not found yet. Part of the queue hasn’t been searched."
}

export const Search = ({
  client,
  several,
  blockOf,
  onBlock,
  onLift,
  onShow,
}: {
  readonly client: Client
  /** whether the gate has several campaigns, so that a result names its own */
  readonly several: boolean
  /** the block that an address is under */
  readonly blockOf: (address: string) => string | undefined
  readonly onBlock: (address: string) => void
  readonly onLift: (address: string) => void
  readonly onShow: (found: FoundTicket) => void
}): JSX.Element => {
  const [typed, setTyped] = useState("")
  const [result, setResult] = useState<Found>()
  const [error, setError] = useState<string>()
  const [busy, setBusy] = useState(false)
  const isLate = useLate(busy)
  const latest = useRef(0)
  /** what the result is of */
  const searched = useRef("")
  const change = (value: string): void => {
    setTyped(value)
    if (soughtBy(value) !== undefined) setError(undefined)
  }
  /** Searches from the start, or continues where the previous search ended. */
  const search = async (before?: Found): Promise<void> => {
    const text = before === undefined ? typed.trim() : searched.current
    const sought = soughtBy(text)
    if (before === undefined) setResult(undefined)
    if (sought === undefined) {
      setError("Enter an address, a customer, or at least the first 4 characters of a ticket’s hash.")
      return
    }
    setError(undefined)
    searched.current = text
    const mine = ++latest.current
    setBusy(true)
    try {
      const answer = await client.find(sought, before?.next)
      // an answer to an earlier search is late
      if (mine !== latest.current) return
      const found = { ...answer, found: joined(before?.found ?? [], answer.found) }
      setResult(found)
      const said = found.found.length === 0 && found.next === undefined ? "No caller found." : saying(found)
      announce(said, OUTCOME_MILLIS)
    } catch (failure) {
      if (mine === latest.current) setError(messageOf(failure))
    }
    if (mine === latest.current) setBusy(false)
  }
  return (
    <search class="search" id="callers">
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void search()
        }}
      >
        <Field label="Find a caller" error={error}>
          {(control) => (
            <span class="search-row">
              <input
                {...control}
                placeholder="Ticket, address, customer"
                autoComplete="off"
                spellcheck={false}
                maxLength={260}
                value={typed}
                onInput={({ currentTarget }) => change(currentTarget.value)}
              />
              <button type="submit">Find</button>
            </span>
          )}
        </Field>
      </form>
      {isLate && <p class="soft">Searching…</p>}
      {!isLate && result !== undefined && result.found.length === 0 && <p class="soft">{saying(result)}</p>}
      {result !== undefined && result.found.length > 0 && (
        <ul class="found">
          {result.found.map((found) => (
            <li key={`${found.campaign} ${found.ticket}`}>
              <code>{found.ticket}</code>
              <span>
                {whereOf(found)}
                {several && ` of ${found.campaign}`}
              </span>
              <button type="button" class="row-action" onClick={() => onShow(found)}>
                Show<span class="unseen"> {found.ticket}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {result !== undefined && isAddress(searched.current) && (
        <Blocking address={searched.current} block={blockOf(searched.current)} onBlock={onBlock} onLift={onLift} />
      )}
      {result?.next !== undefined && (
        <p>
          <button type="button" onClick={() => void search(result)}>
            Keep searching
          </button>
        </p>
      )}
      {result?.more === true && <p class="soft">More callers match. Enter more of the hash.</p>}
    </search>
  )
}

/** What can be done about an address that was searched for. */
const Blocking = ({
  address,
  block,
  onBlock,
  onLift,
}: {
  readonly address: string
  /** the block that it is under */
  readonly block: string | undefined
  readonly onBlock: (address: string) => void
  readonly onLift: (address: string) => void
}): JSX.Element => (
  <p>
    {block !== undefined && `${block === address ? "This address" : `The network ${block}`} is blocked. `}
    <button type="button" class="row-action" onClick={() => (block === undefined ? onBlock(address) : onLift(block))}>
      {block === undefined ? `Block ${address}` : "Lift the block"}
    </button>
  </p>
)
