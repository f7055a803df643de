/** The addresses that ask most, and those that operators have blocked. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { AddressBlock, Asking } from "../../../operator/shapes.ts"
import type { Column } from "../../shared/parts/Table.tsx"
import type { Client } from "../client.ts"
import { Pager } from "../parts/Pager.tsx"
import { ListPanel } from "../parts/Panel.tsx"
import { ROWS, usePolling } from "../polling.ts"
import { networkOf } from "../sought.ts"
import { chosenTime, count } from "../words.ts"

const EVERY_MILLIS = 5_000

/** What is known of addresses; undefined before the first answer. */
export const useAsking = (client: Client, refresh: number): Asking | undefined => {
  const [asking, setAsking] = useState<Asking>()
  // the console's own view reports a problem
  usePolling(client.asking, EVERY_MILLIS, [client, refresh], setAsking, () => {})
  return asking
}

/** The block that an address is under, of its own or of its network. */
export const blockOf = (address: string, asking: Asking | undefined): string | undefined => {
  const blocks = new Set(asking?.blocks.map((each) => each.address))
  return [address, networkOf(address)].find((each) => each !== undefined && blocks.has(each))
}

export const BlockedAddresses = ({
  of: asking,
  onLift,
}: {
  readonly of: Asking | undefined
  readonly onLift: (address: string) => void
}): JSX.Element => {
  const [first, setFirst] = useState(0)
  const { blocks = [] } = asking ?? {}
  return (
    <ListPanel
      title="Blocked addresses"
      note={blocks.length === 0 ? "" : "New requests from there are refused at all campaigns."}
      pager={<Pager of="blocks" first={first} rows={ROWS} total={blocks.length} onMove={setFirst} />}
      empty={
        asking === undefined
          ? "Loading…"
          : "No address is blocked. Block one in the lists of refused and frequent callers, or find it first."
      }
      columns={blockColumns(onLift)}
      items={blocks.slice(first, first + ROWS)}
      keyOf={({ address }) => address}
    />
  )
}

export const FrequentAddresses = ({
  of: asking,
  isBlocked,
  onBlock,
}: {
  readonly of: Asking | undefined
  readonly isBlocked: (address: string) => boolean
  readonly onBlock: (address: string) => void
}): JSX.Element => {
  const [first, setFirst] = useState(0)
  const { addresses = [] } = asking ?? {}
  return (
    <ListPanel
      title="Addresses that ask most"
      note="Requests in the last hour, at all campaigns."
      pager={<Pager of="addresses" first={first} rows={ROWS} total={addresses.length} onMove={setFirst} />}
      empty={asking === undefined ? "Loading…" : "No requests in the last hour."}
      columns={addressColumns(isBlocked, onBlock)}
      items={addresses.slice(first, first + ROWS)}
      keyOf={({ address }) => address}
    />
  )
}

const addressColumns = (
  isBlocked: (address: string) => boolean,
  onBlock: (address: string) => void,
): ReadonlyArray<Column<Asking["addresses"][number]>> => [
  { title: "Address", cell: ({ address }) => <code>{address}</code>, class: "who" },
  { title: "Requests", cell: ({ requests }) => count(requests), class: "number" },
  { title: "Refused", cell: ({ refused }) => count(refused), class: "number" },
  {
    title: "Action",
    untitled: true,
    class: "act",
    cell: ({ address }) =>
      isBlocked(address) ? (
        <span class="soft">Blocked</span>
      ) : (
        <button type="button" class="row-action" onClick={() => onBlock(address)}>
          Block<span class="unseen"> {address}</span>
        </button>
      ),
  },
]

const blockColumns = (onLift: (address: string) => void): ReadonlyArray<Column<AddressBlock>> => [
  { title: "Address", cell: ({ address }) => <code>{address}</code>, class: "who" },
  { title: "Until", cell: ({ until }) => (until === 0 ? "lifted" : chosenTime(until)) },
  { title: "By", cell: ({ by }) => by, class: "more" },
  {
    title: "Action",
    untitled: true,
    class: "act",
    cell: ({ address }) => (
      <button type="button" class="row-action" onClick={() => onLift(address)}>
        Lift<span class="unseen"> the block of {address}</span>
      </button>
    ),
  },
]
