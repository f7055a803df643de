/** The signed-in user's account: password and sessions. */
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Account, SignInEntry } from "../../../../platform/http/dashboard/shapes.ts"
import { type Column, Table } from "../../../shared/parts/Table.tsx"
import { api } from "../../client.ts"
import { Confirm } from "../../parts/Confirm.tsx"
import { useLoad } from "../../parts/load.ts"
import { notify } from "../../parts/notify.ts"
import { Show } from "../../parts/Show.tsx"
import { Ago, At } from "../../parts/Time.tsx"
import { browserOf } from "./browser.ts"
import { Password } from "./Password.tsx"

export const AccountPage = ({ account }: { readonly account: Account }): JSX.Element => {
  const loaded = useLoad(() => api.account.signIns(), "sign-ins")
  const [open, setOpen] = useState<{ readonly name: "one"; readonly of: SignInEntry } | { readonly name: "others" }>()
  const close = (): void => setOpen(undefined)
  return (
    <>
      <h1 tabIndex={-1}>Account</h1>
      <p class="lead">{account.name === account.email ? account.email : `${account.name}, ${account.email}`}</p>
      <section class="card password" aria-labelledby="password">
        <div class="part">
          <h2 id="password">Password</h2>
          <p class="small">Changing your password ends all other sign-ins.</p>
        </div>
        <Password email={account.email} onChanged={loaded.reload} />
      </section>
      <section class="part" aria-labelledby="sign-ins">
        <div class="head">
          <h2 id="sign-ins">Sign-ins</h2>
          {(loaded.value ?? []).some(({ current }) => !current) && (
            <button type="button" onClick={() => setOpen({ name: "others" })}>
              End all other sign-ins
            </button>
          )}
        </div>
        <p class="small">Sign-ins expire after 12 hours.</p>
        <Show of={loaded} what="your sign-ins">
          {(signIns) => (
            <Table
              caption="Sign-ins, newest first"
              items={signIns}
              keyOf={({ id }) => id}
              columns={[...columns, endColumn((of) => setOpen({ name: "one", of }))]}
            />
          )}
        </Show>
      </section>
      {open?.name === "one" && (
        <Confirm
          title="End this sign-in?"
          action="End sign-in"
          doing="Ending…"
          request={() => api.account.endSignIn({ params: { id: open.of.id } })}
          onClose={close}
          onDone={() => {
            close()
            notify("Sign-in ended.")
            loaded.reload()
          }}
        >
          <p>{whereOf(open.of)} will have to sign in again. If this wasn’t you, change your password too.</p>
        </Confirm>
      )}
      {open?.name === "others" && (
        <Confirm
          title="End all other sign-ins?"
          action="End all"
          doing="Ending…"
          request={() => api.account.endOtherSignIns()}
          onClose={close}
          onDone={({ ended }) => {
            close()
            notify(ended === 1 ? "1 sign-in ended." : `${ended} sign-ins ended.`)
            loaded.reload()
          }}
        >
          <p>Every other browser will have to sign in again.</p>
        </Confirm>
      )}
    </>
  )
}

const whereOf = ({ address, userAgent }: SignInEntry): string =>
  address === "" ? browserOf(userAgent) : `${browserOf(userAgent)} at ${address}`

const columns: ReadonlyArray<Column<SignInEntry>> = [
  {
    title: "Browser",
    card: "title",
    cell: ({ current, userAgent }) => (
      <>
        <strong class="name" title={userAgent}>
          {browserOf(userAgent)}
        </strong>{" "}
        {current && <span class="mark on">This browser</span>}
      </>
    ),
  },
  { title: "Address", card: "plain", cell: ({ address }) => (address === "" ? "Unknown" : address) },
  { title: "Signed in", cell: ({ createdAt }) => <At of={createdAt} /> },
  { title: "Last used", cell: ({ lastUsedAt }) => <Ago of={lastUsedAt} /> },
]

const endColumn = (end: (of: SignInEntry) => void): Column<SignInEntry> => ({
  title: "Actions",
  untitled: true,
  cell: (of) =>
    of.current ? null : (
      <button
        type="button"
        class="small-button"
        aria-label={`End the sign-in of ${whereOf(of)}`}
        onClick={() => end(of)}
      >
        End
      </button>
    ),
})
