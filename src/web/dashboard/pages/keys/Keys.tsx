/** API keys with their permissions and last use; each has a page of its own. */
import { Effect } from "effect"
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business } from "../../../../platform/http/dashboard/shapes.ts"
import type { ApiKey } from "../../../../platform/keys/ApiKey.ts"
import { type Column, Table } from "../../../shared/parts/Table.tsx"
import { api } from "../../client.ts"
import { useLoad } from "../../parts/load.ts"
import { Empty, Show } from "../../parts/Show.tsx"
import { Ago, Day, useNow } from "../../parts/Time.tsx"
import { href } from "../../router.ts"
import * as words from "../../words.ts"
import { expiresSoon } from "./expiry.ts"
import { type KeyAction, KeyDialog, KeyMenu } from "./KeyActions.tsx"
import { KeyScope } from "./KeyScope.tsx"
import { HowEnded, hasEnded } from "./key-end.tsx"
import { NewKey } from "./NewKey.tsx"
import { namesOf } from "./Permissions.tsx"

const all = () => Effect.all({ keys: api.keys.list(), businesses: api.businesses.list() }, { concurrency: 2 })

export const Keys = (): JSX.Element => {
  const loaded = useLoad(all, "keys")
  const [open, setOpen] = useState<{ readonly name: "new" } | { readonly name: KeyAction; readonly of: ApiKey }>()
  const now = useNow(30_000)
  const close = (): void => setOpen(undefined)
  return (
    <>
      <div class="head">
        <h1 tabIndex={-1}>API keys</h1>
        <button type="button" class="primary" onClick={() => setOpen({ name: "new" })}>
          Create API key
        </button>
      </div>
      <p class="lead">
        Programs use API keys to access the platform. Keep keys on your servers, never in a web page or an app.
      </p>
      <Show of={loaded} what="API keys">
        {({ keys, businesses }) => {
          const over = (key: ApiKey): boolean => hasEnded(key, now)
          const [working, ended] = [keys.filter((key) => !over(key)), keys.filter(over)]
          const columns = columnsOf(businesses, now)
          return (
            <>
              {working.length === 0 ? (
                <Empty title={ended.length === 0 ? "No API keys yet." : "No API key works any more."}>
                  <p>A gate needs a key restricted to its business, with only the Start permission.</p>
                  <a class="button" href={href("setup")}>
                    Set up a gate
                  </a>
                </Empty>
              ) : (
                <Table
                  caption="API keys"
                  items={working}
                  keyOf={({ id }) => id}
                  columns={[...columns, actionsColumn((name, key) => setOpen({ name, of: key }))]}
                />
              )}
              {ended.length > 0 && (
                <details>
                  <summary>Revoked and expired ({ended.length})</summary>
                  <Table
                    caption="Revoked and expired API keys"
                    items={ended}
                    keyOf={({ id }) => id}
                    columns={[...columns, endColumn]}
                    dim={over}
                  />
                </details>
              )}
              {open !== undefined && open.name !== "new" && (
                <KeyDialog {...open} businesses={businesses} now={now} onClose={close} onChanged={loaded.reload} />
              )}
              {open?.name === "new" && (
                <NewKey
                  businesses={businesses}
                  onClose={() => {
                    close()
                    loaded.reload()
                  }}
                />
              )}
            </>
          )
        }}
      </Show>
    </>
  )
}

const columnsOf = (businesses: ReadonlyArray<Business>, now: number): ReadonlyArray<Column<ApiKey>> => [
  {
    title: "Key",
    card: "title",
    cell: (key) => (
      <a class="name" href={href("keys", key.id)}>
        {key.name}
      </a>
    ),
  },
  {
    title: "Secret",
    card: "plain",
    cell: (key) => (
      <>
        <code class="display">{key.display}</code>
        {key.previousSecretUntil !== null && key.previousSecretUntil > now && (
          <>
            {" "}
            <span class="mark" title={`The previous secret works until ${words.at(key.previousSecretUntil)}.`}>
              + previous<span class="unseen"> secret</span>
            </span>
          </>
        )}
      </>
    ),
  },
  {
    title: "Scope",
    card: "plain",
    cell: (key) => (
      <span class="cut">
        <KeyScope of={key} businesses={businesses} />
      </span>
    ),
  },
  {
    title: "Permissions",
    cell: (key) => (
      <>
        {namesOf(key.permissions)}
        {key.userManagement && (
          <>
            {" "}
            <span class="mark" title="User management">
              Manage users
            </span>
          </>
        )}
        {key.allowedAddresses.length > 0 && (
          <>
            {" "}
            <span class="mark" title={`Only from ${key.allowedAddresses.join(", ")}`}>
              {key.allowedAddresses.length === 1
                ? key.allowedAddresses[0]
                : `only from ${key.allowedAddresses.length} addresses`}
            </span>
          </>
        )}
      </>
    ),
  },
  { title: "Last used", cell: (key) => (key.lastUsedAt === null ? "Never" : <Ago of={key.lastUsedAt} />) },
  {
    title: "Expires",
    cell: (key) => (key.expiresAt === null ? "Never" : <Expiry at={key.expiresAt} now={now} />),
  },
]

/** The days that are left, when they are few. */
const Expiry = ({ at, now }: { readonly at: number; readonly now: number }): JSX.Element =>
  expiresSoon(at, now) ? (
    <span class="soon">
      <Ago of={at} />
    </span>
  ) : (
    <Day of={at} />
  )

const actionsColumn = (open: (name: KeyAction, key: ApiKey) => void): Column<ApiKey> => ({
  title: "Actions",
  untitled: true,
  cell: (key) => <KeyMenu of={key} open={(name) => open(name, key)} />,
})

const endColumn: Column<ApiKey> = { title: "Ended", card: "plain", cell: (key) => <HowEnded of={key} /> }
