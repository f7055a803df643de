/** API keys with their permissions and last use; adds and revokes them. */
import { Effect } from "effect"
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { ApiKey, Business } from "../../../platform/http/dashboard/shapes.ts"
import { announce } from "../../shared/parts/announce.ts"
import { type Column, Table } from "../../shared/parts/Table.tsx"
import { api } from "../client.ts"
import { Confirm } from "../parts/Confirm.tsx"
import { useLoad } from "../parts/load.ts"
import { Empty, Show } from "../parts/Show.tsx"
import { Ago, At, useNow } from "../parts/Time.tsx"
import { href } from "../router.ts"
import { EditKey } from "./EditKey.tsx"
import { expiresSoon } from "./expiry.ts"
import { NewKey } from "./NewKey.tsx"
import { namesOf } from "./Permissions.tsx"
import { RotateKey } from "./RotateKey.tsx"

const all = () => Effect.all({ keys: api.keys.list(), businesses: api.businesses.list() }, { concurrency: 2 })

export const Keys = (): JSX.Element => {
  const loaded = useLoad(all, "keys")
  const [open, setOpen] = useState<
    { readonly name: "new" } | { readonly name: "edit" | "rotate" | "revoke"; readonly key: ApiKey }
  >()
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
        Programs use an API key to call the platform. Keep keys on your servers, never in a web page or an app.
      </p>
      <Show of={loaded} what="API keys">
        {({ keys, businesses }) => {
          const over = (key: ApiKey): boolean =>
            key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now)
          const [working, ended] = [keys.filter((key) => !over(key)), keys.filter(over)]
          const columns = columnsOf(businesses, now)
          return (
            <>
              {working.length === 0 ? (
                <Empty title="No API keys yet.">
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
                  columns={[...columns, actionsColumn((name, key) => setOpen({ name, key }))]}
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
      {open?.name === "edit" && (
        <EditKey
          of={open.key}
          onClose={close}
          onDone={({ name }) => {
            close()
            announce(`${name} saved.`)
            loaded.reload()
          }}
        />
      )}
      {open?.name === "rotate" && (
        <RotateKey
          of={open.key}
          now={now}
          onClose={() => {
            close()
            loaded.reload()
          }}
        />
      )}
      {open?.name === "revoke" && (
        <Confirm
          title={`Revoke “${open.key.name}”?`}
          action="Revoke key"
          doing="Revoking…"
          request={() => api.keys.revoke({ params: { id: open.key.id } })}
          onClose={close}
          onDone={() => {
            close()
            announce(`${open.key.name} revoked.`)
            loaded.reload()
          }}
        >
          <p>
            Anything that uses <code>{open.key.display}</code> will be rejected from now on. A revoked key can’t be
            restored.
          </p>
        </Confirm>
      )}
    </>
  )
}

const columnsOf = (businesses: ReadonlyArray<Business>, now: number): ReadonlyArray<Column<ApiKey>> => [
  {
    title: "Key",
    cell: (key) => (
      <>
        <strong class="name">{key.name}</strong>
        <code class="display">{key.display}</code>
        {key.allowedAddresses.length > 0 && (
          <div class="small" title={key.allowedAddresses.join(", ")}>
            Only from{" "}
            {key.allowedAddresses.length === 1 ? key.allowedAddresses[0] : `${key.allowedAddresses.length} addresses`}
          </div>
        )}
        {key.previousSecretUntil !== null && key.previousSecretUntil > now && (
          <div class="small">
            Previous secret works until <At of={key.previousSecretUntil} />
          </div>
        )}
      </>
    ),
  },
  { title: "Scope", cell: (key) => <Scope of={key} businesses={businesses} /> },
  { title: "Permissions", cell: (key) => namesOf(key.permissions) },
  { title: "User management", cell: (key) => (key.userManagement ? <strong>On</strong> : "Off") },
  { title: "Last used", cell: (key) => (key.lastUsedAt === null ? "Never" : <Ago of={key.lastUsedAt} />) },
  {
    title: "Expires",
    cell: (key) =>
      key.expiresAt === null ? (
        "Never"
      ) : (
        <>
          <At of={key.expiresAt} /> {expiresSoon(key.expiresAt, now) && <span class="mark bad">Soon</span>}
        </>
      ),
  },
  { title: "Created", cell: (key) => <At of={key.createdAt} /> },
]

const actionsColumn = (open: (name: "edit" | "rotate" | "revoke", key: ApiKey) => void): Column<ApiKey> => ({
  title: "Actions",
  untitled: true,
  cell: (key) => (
    <span class="buttons">
      <button type="button" class="small-button" aria-label={`Edit ${key.name}`} onClick={() => open("edit", key)}>
        Edit
      </button>
      <button type="button" class="small-button" aria-label={`Rotate ${key.name}`} onClick={() => open("rotate", key)}>
        Rotate
      </button>
      <button type="button" class="small-button" aria-label={`Revoke ${key.name}`} onClick={() => open("revoke", key)}>
        Revoke
      </button>
    </span>
  ),
})

const endColumn: Column<ApiKey> = {
  title: "Ended",
  cell: (key) =>
    key.revokedAt === null ? (
      "Expired"
    ) : (
      <>
        Revoked <At of={key.revokedAt} />
      </>
    ),
}

const Scope = ({
  of,
  businesses,
}: {
  readonly of: ApiKey
  readonly businesses: ReadonlyArray<Business>
}): JSX.Element => {
  if (of.scope.type === "Unrestricted") return <>All businesses</>
  const { businessIds } = of.scope
  if (businessIds.length === 0) return <>None: its businesses were deleted</>
  return (
    <>
      <span class="phrase">Restricted to</span>{" "}
      {businessIds.map((id, index) => (
        <span key={id} title={id}>
          {index > 0 && ", "}
          {businesses.find((business) => business.id === id)?.name ?? id}
        </span>
      ))}
    </>
  )
}
