/**
 * Sets up a gate in five steps: business, web campaign, API key, settings to paste, and a check while the gate starts. A step that is
 * done can be opened again, and the whole can be left and resumed.
 */
import { Effect } from "effect"
import type { ComponentChildren, JSX } from "preact"
import { useLayoutEffect, useRef, useState } from "preact/hooks"
import type { Account, Business, Campaign } from "../../../../platform/http/dashboard/shapes.ts"
import type { ApiKey } from "../../../../platform/keys/ApiKey.ts"
import { announceUnseen } from "../../../shared/parts/announce.ts"
import { api } from "../../client.ts"
import { useLoad } from "../../parts/load.ts"
import { notify } from "../../parts/notify.ts"
import { Show } from "../../parts/Show.tsx"
import { href } from "../../router.ts"
import { BusinessStep } from "./BusinessStep.tsx"
import { CampaignStep } from "./CampaignStep.tsx"
import { CheckStep } from "./CheckStep.tsx"
import { originOf } from "./gate-settings.ts"
import { KeyStep, suits } from "./KeyStep.tsx"
import { keepProgress, keepSecrets, type Progress, progressOf, STEPS, type Step, secretsOf } from "./progress.ts"
import { SettingsStep } from "./SettingsStep.tsx"

const all = () =>
  Effect.all(
    {
      businesses: api.businesses.list(),
      keys: api.keys.list(),
      regions: api.businesses.regions(),
      live: api.conversations.live(),
    },
    { concurrency: 4 },
  )
type All = Effect.Success<ReturnType<typeof all>>

const TITLES: Readonly<Record<Step, string>> = {
  business: "Business",
  campaign: "Web campaign",
  key: "API key",
  settings: "Gate settings",
  check: "Check",
}

export const Setup = ({ account }: { readonly account: Account }): JSX.Element => {
  const loaded = useLoad(all, "setup")
  return (
    <>
      <div class="head">
        <h1 tabIndex={-1}>Set up a gate</h1>
        <a class="button" href={href("keys")}>
          Skip for now
        </a>
      </div>
      <p class="lead">Five steps to your first call. You can leave at any time and continue here later.</p>
      <Show of={loaded} what="your account">
        {(value) => <Steps account={account} of={value} />}
      </Show>
    </>
  )
}

interface Chosen {
  readonly business: Business | undefined
  readonly campaign: Campaign | undefined
  readonly key: ApiKey | undefined
}

/** What was chosen and still exists. */
const chosenOf = ({ businesses, keys }: All, progress: Progress, now: number): Chosen => {
  const business = businesses.find(({ id }) => id === progress.businessId)
  const campaign = business?.campaigns.find(({ id }) => id === progress.campaignId)
  const key = business && keys.find((each) => each.id === progress.keyId && suits(each, business.id, now))
  return { business, campaign, key }
}

/** The first step that is not done. */
const firstOpen = ({ business, campaign, key }: Chosen, pasted: boolean): Step => {
  if (business === undefined) return "business"
  if (campaign === undefined) return "campaign"
  if (key === undefined) return "key"
  return pasted ? "check" : "settings"
}

/** The list with this item, in place of the one with its id or at the end. */
const put = <A extends { readonly id: string }>(items: ReadonlyArray<A>, item: A): ReadonlyArray<A> =>
  items.some(({ id }) => id === item.id) ? items.map((each) => (each.id === item.id ? item : each)) : [...items, item]

const Steps = ({ account, of: loaded }: { readonly account: Account; readonly of: All }): JSX.Element => {
  // What a step makes is known at once, so that nothing can be made twice.
  const [of, setOf] = useState(loaded)
  const progress = progressOf(account.id)
  const secrets = secretsOf(account.id)
  const chosen = chosenOf(of, progress, Date.now())
  const next = firstOpen(chosen, progress.pasted === true)
  /** a step that was opened again */
  const [reopened, setReopened] = useState<Step>()
  const open = reopened !== undefined && STEPS.indexOf(reopened) < STEPS.indexOf(next) ? reopened : next
  const { business, campaign, key } = chosen

  const keepBusiness = (changed: Business): void =>
    setOf((before) => ({ ...before, businesses: put(before.businesses, changed) }))
  const keepCampaign = (owner: Business, changed: Campaign): void =>
    keepBusiness({ ...owner, campaigns: put(owner.campaigns, changed) })
  const keepKey = (changed: ApiKey): void => setOf((before) => ({ ...before, keys: put(before.keys, changed) }))
  const done = (some: Progress): void => {
    keepProgress(account.id, { ...progress, pasted: false, ...some })
    setReopened(undefined)
    announceUnseen(`${TITLES[open]}: done.`)
  }
  const card = { open, next, onOpen: setReopened }
  const gate = progress.gate || (originOf(campaign?.webhook?.url ?? "") ?? "")

  return (
    <ol class="steps">
      <StepCard {...card} step="business" summary={business?.name}>
        <BusinessStep
          businesses={of.businesses}
          chosen={business}
          onDone={(made) => {
            keepBusiness(made)
            done({ businessId: made.id })
          }}
        />
      </StepCard>
      <StepCard {...card} step="campaign" summary={campaign && campaignSummary(campaign)}>
        {business !== undefined && (
          <CampaignStep
            key={business.id}
            business={business}
            chosen={campaign}
            gate={gate}
            onDone={({ campaign: made, gate: reached, token }) => {
              if (token !== undefined) keepSecrets(account.id, { token: { id: made.id, value: token } })
              keepCampaign(business, made)
              done({ campaignId: made.id, gate: reached })
            }}
          />
        )}
      </StepCard>
      <StepCard {...card} step="key" summary={key && `${key.name} (${key.display})`}>
        {business !== undefined && (
          <KeyStep
            key={business.id}
            business={business}
            keys={of.keys.filter((each) => suits(each, business.id, Date.now()))}
            chosen={key}
            onChosen={({ id }) => done({ keyId: id })}
            onCreated={({ key: made, secret }) => {
              keepSecrets(account.id, { key: { id: made.id, value: secret } })
              keepKey(made)
              done({ keyId: made.id })
            }}
          />
        )}
      </StepCard>
      <StepCard {...card} step="settings" summary="Ready for the gate.">
        {business !== undefined && campaign !== undefined && key !== undefined && (
          <SettingsStep
            business={business}
            campaign={campaign}
            apiKey={key}
            regions={of.regions}
            slots={of.live.limit}
            secret={secrets.key?.id === key.id ? secrets.key.value : undefined}
            token={secrets.token?.id === campaign.id ? secrets.token.value : undefined}
            regionId={progress.regionId ?? of.regions[0]?.id ?? ""}
            site={progress.site ?? ""}
            gate={gate}
            onSecret={({ key: rotated, secret }) => {
              keepSecrets(account.id, { key: { id: rotated.id, value: secret } })
              keepKey(rotated)
              notify("New secret created.")
            }}
            onToken={(changed, value) => {
              keepSecrets(account.id, { token: { id: changed.id, value } })
              keepCampaign(business, changed)
              notify("New token set.")
            }}
            onDone={(settings) => done({ ...settings, pasted: true })}
          />
        )}
      </StepCard>
      <StepCard {...card} step="check" summary={undefined}>
        {campaign !== undefined && key !== undefined && <CheckStep campaign={campaign} apiKey={key} />}
      </StepCard>
    </ol>
  )
}

const campaignSummary = ({ name, webhook }: Campaign): string =>
  webhook === null ? `${name}, without a webhook` : `${name}, webhook to ${webhook.url}`

/** One step: open, done with its summary, or still to come. The heading of a step that opens gets the focus. */
const StepCard = ({
  step,
  open,
  next,
  summary,
  onOpen,
  children,
}: {
  readonly step: Step
  readonly open: Step
  /** the first step that is not done */
  readonly next: Step
  readonly summary: string | undefined
  readonly onOpen: (step: Step | undefined) => void
  readonly children: ComponentChildren
}): JSX.Element => {
  const isOpen = step === open
  const isDone = STEPS.indexOf(step) < STEPS.indexOf(next)
  const heading = useRef<HTMLHeadingElement>(null)
  const wasOpen = useRef(isOpen)
  useLayoutEffect(() => {
    // the step that a page begins with leaves the focus to the page
    if (isOpen && !wasOpen.current) heading.current?.focus()
    wasOpen.current = isOpen
  }, [isOpen])
  return (
    <li class="card" aria-current={isOpen ? "step" : undefined}>
      <div class="head">
        <h2 ref={heading} tabIndex={-1}>
          {STEPS.indexOf(step) + 1}. {TITLES[step]}
        </h2>
        {isDone && !isOpen && (
          <>
            <p class="small">
              <span class="mark on">Done</span> {summary}
            </p>
            <button
              type="button"
              class="small-button"
              aria-label={`Change ${TITLES[step]}`}
              onClick={() => onOpen(step)}
            >
              Change
            </button>
          </>
        )}
        {isOpen && isDone && (
          <button type="button" class="small-button" onClick={() => onOpen(undefined)}>
            Cancel
          </button>
        )}
      </div>
      {isOpen && children}
    </li>
  )
}
