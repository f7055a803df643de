/** One API key: what it may do, and how much it is used. */
import { Effect } from "effect"
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business } from "../../../../platform/http/dashboard/shapes.ts"
import type { ApiKey } from "../../../../platform/keys/ApiKey.ts"
import { api } from "../../client.ts"
import { useLoad } from "../../parts/load.ts"
import { Pair, Pairs } from "../../parts/Pairs.tsx"
import { Show } from "../../parts/Show.tsx"
import { Ago, At, useNow } from "../../parts/Time.tsx"
import { href } from "../../router.ts"
import { expiresSoon } from "./expiry.ts"
import { type KeyAction, KeyDialog, KeyMenu } from "./KeyActions.tsx"
import { KeyScope } from "./KeyScope.tsx"
import { KeyUsage } from "./KeyUsage.tsx"
import { HowEnded, hasEnded } from "./key-end.tsx"
import { namesOf } from "./Permissions.tsx"

const EVERY_MILLIS = 30_000

const loadOf = (id: string) => () =>
  Effect.all(
    { keys: api.keys.list(), businesses: api.businesses.list(), usage: api.keys.usage({ params: { id } }) },
    { concurrency: 3 },
  )

export const Key = ({ id }: { readonly id: string }): JSX.Element => {
  const loaded = useLoad(loadOf(id), id, EVERY_MILLIS)
  const [open, setOpen] = useState<KeyAction>()
  const now = useNow(30_000)
  const key = loaded.value?.keys.find((each) => each.id === id)
  return (
    <>
      <p>
        <a href={href("keys")}>All API keys</a>
      </p>
      <div class="head">
        <h1 tabIndex={-1}>{key?.name ?? "API key"}</h1>
        {key !== undefined && !hasEnded(key, now) && <KeyMenu of={key} open={setOpen} />}
      </div>
      <Show of={loaded} what="the API key">
        {({ businesses, usage }) => (
          <>
            {key !== undefined && <Facts of={key} businesses={businesses} now={now} />}
            <section class="part">
              <h2>Usage</h2>
              <KeyUsage of={usage} />
            </section>
            {key !== undefined && open !== undefined && (
              <KeyDialog
                name={open}
                of={key}
                businesses={businesses}
                now={now}
                onClose={() => setOpen(undefined)}
                onChanged={loaded.reload}
              />
            )}
          </>
        )}
      </Show>
    </>
  )
}

const Facts = ({
  of,
  businesses,
  now,
}: {
  readonly of: ApiKey
  readonly businesses: ReadonlyArray<Business>
  readonly now: number
}): JSX.Element => (
  <Pairs>
    <Pair name="Secret">
      <code class="display">{of.display}</code>
      {of.previousSecretUntil !== null && of.previousSecretUntil > now && (
        <span class="small">
          The previous secret works until <At of={of.previousSecretUntil} />.
        </span>
      )}
    </Pair>
    <Pair name="Scope">
      <KeyScope of={of} businesses={businesses} />
    </Pair>
    <Pair name="Permissions">{namesOf(of.permissions)}</Pair>
    <Pair name="User management">{of.userManagement ? <strong>On</strong> : "Off"}</Pair>
    <Pair name="Addresses">{of.allowedAddresses.length === 0 ? "Any" : of.allowedAddresses.join(", ")}</Pair>
    <Pair name="Last used">{of.lastUsedAt === null ? "Never" : <Ago of={of.lastUsedAt} />}</Pair>
    {hasEnded(of, now) ? (
      <Pair name="Ended">
        <HowEnded of={of} />
      </Pair>
    ) : (
      <Pair name="Expires">
        {of.expiresAt === null ? (
          "Never"
        ) : (
          <>
            <At of={of.expiresAt} /> {expiresSoon(of.expiresAt, now) && <span class="mark bad">Soon</span>}
          </>
        )}
      </Pair>
    )}
    <Pair name="Created">
      <At of={of.createdAt} />
    </Pair>
  </Pairs>
)
