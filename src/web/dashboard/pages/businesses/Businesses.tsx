/** Businesses and their web campaigns, with the ids that clients are configured with. */
import { Effect } from "effect"
import type { JSX } from "preact"
import { useState } from "preact/hooks"
import type { Business, Campaign } from "../../../../platform/http/dashboard/shapes.ts"
import { api, type Call } from "../../client.ts"
import { Confirm } from "../../parts/Confirm.tsx"
import { Id } from "../../parts/Copy.tsx"
import { useLoad } from "../../parts/load.ts"
import { Menu } from "../../parts/Menu.tsx"
import { notify } from "../../parts/notify.ts"
import { Pair, Pairs } from "../../parts/Pairs.tsx"
import { Empty, Show } from "../../parts/Show.tsx"
import { At } from "../../parts/Time.tsx"
import { href } from "../../router.ts"
import { BusinessForm } from "./BusinessForm.tsx"
import { CampaignForm } from "./CampaignForm.tsx"
import { isAuthenticated } from "./campaign-draft.ts"

type Open =
  | { readonly name: "business"; readonly business: Business | undefined }
  | {
      readonly name: "campaign"
      readonly business: Business
      readonly campaign: Campaign | undefined
      /** the form begins with a new token for the webhook */
      readonly withToken?: boolean
    }
  | { readonly name: "delete"; readonly what: string; readonly effect: string; readonly request: () => Call<void> }

const all = () =>
  Effect.all({ businesses: api.businesses.list(), regions: api.businesses.regions() }, { concurrency: 2 })

export const Businesses = (): JSX.Element => {
  const loaded = useLoad(all, "businesses")
  const [open, setOpen] = useState<Open>()
  const close = (): void => setOpen(undefined)
  const done = (said: string): void => {
    close()
    notify(said)
    loaded.reload()
  }
  return (
    <>
      <div class="head">
        <h1 tabIndex={-1}>Businesses</h1>
        <button type="button" class="primary" onClick={() => setOpen({ name: "business", business: undefined })}>
          Add business
        </button>
      </div>
      <p class="lead">To connect a gate, you need the IDs of a business, one of its web campaigns, and a region.</p>
      <Show of={loaded} what="businesses">
        {({ businesses, regions }) => (
          <>
            {businesses.length === 0 && (
              <Empty title="No businesses yet.">
                <p>A business groups web campaigns. API keys can be restricted to it.</p>
                <a class="button" href={href("setup")}>
                  Set up a gate
                </a>
              </Empty>
            )}
            {businesses.map((business) => (
              <Card key={business.id} of={business} open={setOpen} />
            ))}
            <section class="card">
              <h2>Regions</h2>
              <Pairs>
                {regions.map(({ id, name }) => (
                  <Pair key={id} name={name}>
                    <Id id={id} what={`the ID of ${name}`} />
                  </Pair>
                ))}
              </Pairs>
            </section>
          </>
        )}
      </Show>
      {open?.name === "business" && <BusinessForm of={open.business} onClose={close} onDone={done} />}
      {open?.name === "campaign" && (
        <CampaignForm
          business={open.business}
          of={open.campaign}
          withToken={open.withToken === true}
          onClose={close}
          onDone={done}
        />
      )}
      {open?.name === "delete" && (
        <Confirm
          title={`Delete “${open.what}”?`}
          action="Delete"
          doing="Deleting…"
          request={open.request}
          onClose={close}
          onDone={() => done(`${open.what} deleted.`)}
        >
          <p>{open.effect} This can’t be undone.</p>
        </Confirm>
      )}
    </>
  )
}

/** What can be done with a business or a campaign. */
const Actions = ({
  of,
  edit,
  removed,
  remove,
  open,
}: {
  readonly of: string
  readonly edit: { readonly label: string; readonly form: Open }
  /** what follows when it is deleted */
  readonly removed: string
  readonly remove: () => Call<void>
  readonly open: (what: Open) => void
}): JSX.Element => (
  <Menu
    of={of}
    items={[
      { label: edit.label, name: `${edit.label} ${of}`, run: () => open(edit.form) },
      {
        label: "Delete",
        name: `Delete ${of}`,
        danger: true,
        run: () => open({ name: "delete", what: of, effect: removed, request: remove }),
      },
    ]}
  />
)

const Card = ({ of, open }: { readonly of: Business; readonly open: (what: Open) => void }): JSX.Element => (
  <section class="card" aria-label={of.name}>
    <div class="head">
      <h2>
        {of.name} {of.disabled && <span class="mark">Disabled</span>}
      </h2>
      <Actions
        of={of.name}
        edit={{ label: "Rename", form: { name: "business", business: of } }}
        removed={`Its web campaigns (${of.campaigns.length}) and all its conversations are deleted too, and keys restricted to it lose access.`}
        remove={() => api.businesses.remove({ params: { id: of.id } })}
        open={open}
      />
    </div>
    <Pairs>
      <Pair name="Business ID">
        <Id id={of.id} what={`the ID of ${of.name}`} />
      </Pair>
      <Pair name="Created">
        <At of={of.createdAt} />
      </Pair>
    </Pairs>
    <div class="head">
      <h3>Web campaigns</h3>
      <button
        type="button"
        class="small-button"
        aria-label={`Add web campaign to ${of.name}`}
        onClick={() => open({ name: "campaign", business: of, campaign: undefined })}
      >
        Add web campaign
      </button>
    </div>
    {of.campaigns.length === 0 && <p class="small">None yet. Add one to start sessions.</p>}
    <ul class="campaigns">
      {of.campaigns.map((campaign) => (
        <CampaignRow key={campaign.id} of={campaign} business={of} open={open} />
      ))}
    </ul>
  </section>
)

const CampaignRow = ({
  of,
  business,
  open,
}: {
  readonly of: Campaign
  readonly business: Business
  readonly open: (what: Open) => void
}): JSX.Element => (
  <li>
    <strong>{of.name}</strong>
    <Id id={of.id} what={`the ID of ${of.name}`} />
    <Hook of={of.webhook} />
    <div class="buttons">
      <a class="button small-button" href={href("businesses", of.id)} aria-label={`Embed ${of.name}`}>
        Embed
      </a>
      <Actions
        of={of.name}
        edit={{ label: "Edit", form: { name: "campaign", business, campaign: of } }}
        removed="No new sessions can be started for it."
        remove={() => api.campaigns.remove({ params: { businessId: business.id, id: of.id } })}
        open={open}
      />
    </div>
    {of.webhook !== null && !isAuthenticated(of.webhook) && (
      <div class="warning">
        <p>
          <strong>This webhook has no token and no signature.</strong> A gate rejects it, so ended calls keep their
          slots.
        </p>
        <button
          type="button"
          class="small-button"
          aria-label={`Add a token to ${of.name}`}
          onClick={() => open({ name: "campaign", business, campaign: of, withToken: true })}
        >
          Add a token
        </button>
      </div>
    )}
  </li>
)

/** Where the ends of sessions are reported, and how. */
const Hook = ({ of }: { readonly of: Campaign["webhook"] }): JSX.Element => {
  if (of === null) return <span class="hook">No webhook</span>
  const how = of.signed ? "signed" : of.headerNames.length > 0 ? `with ${of.headerNames.join(", ")}` : "not signed"
  return (
    <span class="hook" title={`Session-ended webhook: ${of.url}, ${how}`}>
      <span class="unseen">Session-ended webhook: </span>
      {URL.parse(of.url)?.host ?? of.url}
      <span class="unseen">, {how}</span>
    </span>
  )
}
