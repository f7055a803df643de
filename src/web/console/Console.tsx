/**
 * The console of a signed-in operator: what is wrong, what happens now, what happened, and then the rest. Every action asks for confirmation
 * first.
 */

import type { JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import type { Action } from "../../fifo-queue/operator/actions.ts"
import { type ActionButton, campaignButtons, reloadQuestion } from "../../operator/action-words.ts"
import type { BudgetsView } from "../../operator/budget-shapes.ts"
import type { Campaigns as CampaignsView, FoundTicket, View } from "../../operator/shapes.ts"
import { announce } from "../shared/parts/announce.ts"
import { focusHeading } from "../shared/parts/focus.ts"
import type { Client } from "./client.ts"
import { Frame } from "./Frame.tsx"
import { brokenElsewhere, headlineOf, titleOf } from "./headline.ts"
import { order } from "./order.ts"
import { blockText, OUTCOME_MILLIS, outcomeText, reloadText } from "./outcomes.ts"
import { BlockedAddresses, blockOf, FrequentAddresses, useAsking } from "./panels/Addresses.tsx"
import { AuditLog } from "./panels/AuditLog.tsx"
import { Budgets } from "./panels/Budgets.tsx"
import { CampaignPicker } from "./panels/CampaignPicker.tsx"
import { Campaigns } from "./panels/Campaigns.tsx"
import { Charts } from "./panels/Charts.tsx"
import { Headline } from "./panels/Headline.tsx"
import { Health } from "./panels/Health.tsx"
import { Instances } from "./panels/Instances.tsx"
import { Live } from "./panels/Live.tsx"
import { More } from "./panels/More.tsx"
import { Refusals, refusedIn } from "./panels/Refusals.tsx"
import { focusSearch, Search } from "./panels/Search.tsx"
import { Ask } from "./parts/Ask.tsx"
import { BlockDialog } from "./parts/BlockDialog.tsx"
import { Confirm } from "./parts/Confirm.tsx"
import { Help } from "./parts/Help.tsx"
import { Jumps } from "./parts/Jumps.tsx"
import { Mark } from "./parts/Mark.tsx"
import { type Position, ROWS, START, useGate, usePolling } from "./polling.ts"
import { signOut } from "./session.ts"
import { type Shortcut, useShortcuts } from "./shortcuts.ts"
import { useLate } from "./use-late.ts"
import { useOrdered } from "./use-ordered.ts"
import { usePageAddress } from "./use-page-address.ts"
import { count } from "./words.ts"

const CAMPAIGNS_MILLIS = 4_000
const BUDGETS_MILLIS = 8_000

/** A question that is open, beside those of the campaign's actions. */
type Asked =
  | { readonly what: "help" }
  | { readonly what: "reload" }
  | { readonly what: "block" | "lift"; readonly address: string }

export const Console = ({
  client,
  first,
}: {
  readonly client: Client
  readonly first: View | undefined
}): JSX.Element => {
  const [{ campaign, range }, go] = usePageAddress()
  const [position, setPosition] = useState(START)
  /** the question of an action, and the campaign that it is about */
  const [asking, setAsking] = useState<{ readonly button: ActionButton; readonly campaign: string }>()
  const [asked, setAsked] = useState<Asked>()
  const [refresh, setRefresh] = useState(0)
  const [campaigns, setCampaigns] = useState<CampaignsView>()
  const [budgets, setBudgets] = useState<BudgetsView>()
  const { answered, auditLog, live, outdated, problem, shown } = useGate(
    client,
    first,
    campaign,
    position,
    refresh,
    () => {
      announce(`There’s no campaign named ${campaign}.`, OUTCOME_MILLIS)
      go({ campaign: "" })
    },
  )
  // the console's own view reports a problem
  usePolling(client.campaigns, CAMPAIGNS_MILLIS, [client, refresh], setCampaigns, () => {})
  const isShown = shown !== undefined

  const move = (to: Partial<Position>): void => setPosition((before) => ({ ...before, ...to }))
  /** Orders something, says what became of it, and asks for everything anew. */
  const orderAndRefresh: typeof order = async (...given) => {
    await order(...given)
    setRefresh((before) => before + 1)
  }
  /** Closes the question, and performs the action if there is one. */
  const answer = (of: string, action?: Action): void => {
    setAsking(undefined)
    if (action !== undefined) void orderAndRefresh(client.act(of, action), (outcome) => outcomeText(action, outcome))
  }
  const answerReload = (confirmed: boolean): void => {
    setAsked(undefined)
    if (confirmed) void orderAndRefresh(client.reload(), reloadText, "Reload failed")
  }
  const block = (address: string, until: number | undefined): void => {
    setAsked(undefined)
    void orderAndRefresh(
      client.block(address, until),
      ({ result }) => blockText(address, until, result),
      "Block failed",
    )
  }

  const addresses = useAsking(client, refresh)
  const names = shown?.view.campaigns ?? []
  const several = names.length > 1
  // the first is the one of an address without a campaign
  const current = campaign === "" ? (names[0] ?? "") : campaign
  // rows have numbers that every campaign counts by itself, so what is shown of one is never ordered for another
  const acts = live === true && shown?.view.campaign === current && shown.view.queue !== null
  const ask = (button: ActionButton): void => {
    if (acts) setAsking({ button, campaign })
  }
  usePolling(
    () => (current === "" ? new Promise<never>(() => {}) : client.budgets(current)),
    BUDGETS_MILLIS,
    [client, current, refresh],
    setBudgets,
    () => {},
  )
  useEffect(() => {
    // every list of another campaign begins with its first page
    setPosition((before) => ({ ...START, only: before.only }))
    // the browser's back button leads to another campaign while a question is open
    setAsking(undefined)
  }, [campaign])
  const choose = (name: string): void => go({ campaign: name })
  const chooseBy = (steps: number): void => {
    const next = names.at((names.indexOf(current) + steps) % Math.max(1, names.length))
    if (next !== undefined && next !== current) {
      choose(next)
      announce(`Campaign ${next}.`, OUTCOME_MILLIS)
    }
  }
  const showTicket = ({ campaign: of, row, state }: FoundTicket): void => {
    const page = Math.floor(row / ROWS) * ROWS
    if (of !== current) choose(of)
    // after the effect that goes to the first page
    setTimeout(() => move(state === "waiting" ? { firstPlace: page } : { firstSlot: page }))
    const list = document.querySelector<HTMLElement>(state === "waiting" ? ".queue" : ".slots")
    list?.scrollIntoView({ block: "nearest" })
    list?.querySelector<HTMLElement>(".scroll")?.focus()
  }
  const { callNext, drainOrReopen, pauseOrResume } = campaignButtons(shown?.queueView?.queue)
  const shortcuts: ReadonlyArray<Shortcut> = [
    { key: "n", does: "Call next", run: () => ask(callNext) },
    { key: "p", does: "Pause or resume calls", run: () => ask(pauseOrResume) },
    { key: "d", does: "Drain, or stop draining", run: () => ask(drainOrReopen) },
    { key: "]", does: "Next campaign", run: () => chooseBy(1) },
    { key: "[", does: "Previous campaign", run: () => chooseBy(-1) },
    { key: "1", does: "Charts of an hour", run: () => go({ range: "hour" }) },
    { key: "2", does: "Charts of a day", run: () => go({ range: "day" }) },
    { key: "3", does: "Charts of a week", run: () => go({ range: "week" }) },
    { key: "/", does: "Find a caller", run: focusSearch },
    { key: "r", does: "Refresh now", run: () => setRefresh((before) => before + 1) },
    { key: "?", does: "Show keyboard shortcuts", run: () => setAsked({ what: "help" }) },
  ]
  useShortcuts(isShown ? shortcuts : [])

  const ofCurrent = budgets?.campaign === current ? budgets : undefined
  const awaits = useLate(isShown && current !== shown.view.campaign) ? current : ""
  const headline = headlineOf(shown?.view, shown?.queueView, { answered, awaits, live, outdated, problem })
  const ordered = useOrdered(client, current, shown?.queueView?.queue, shown?.view.now ?? 0, refresh)
  const title = titleOf(headline, awaits === "" ? shown?.queueView : undefined)
  useEffect(() => {
    document.title = title
  }, [title])
  useEffect(() => {
    // after signing in the focus moves to the heading; after a reload the browser restores it
    if (isShown && first !== undefined) focusHeading()
  }, [isShown])

  const isAway = shown?.view.queue === null
  const mine = campaigns?.campaigns.find(({ name }) => name === shown?.view.campaign)
  const askToBlock = (address: string): void => setAsked({ what: "block", address })
  const isBlocked = (address: string): boolean => blockOf(address, addresses) !== undefined
  const askToLift = (address: string): void => setAsked({ what: "lift", address })
  const parts = [
    { id: "now", label: "Now" },
    { id: "history", label: "History" },
    ...(several ? [{ id: "campaigns", label: "Campaigns" }] : []),
    { id: "callers", label: "Callers" },
    { id: "health", label: "Health" },
    { id: "log", label: "Log" },
  ]
  return (
    <Frame
      parts={isShown && <Jumps parts={parts} />}
      session={
        <>
          {live !== undefined && (
            <Mark of={live ? (isAway ? "soon" : "good") : "bad"} soft>
              {live ? (isAway ? "Old figures" : "Live") : "Disconnected"}
            </Mark>
          )}
          {isShown && (
            <button type="button" class="quiet" onClick={() => setAsked({ what: "help" })}>
              Shortcuts
            </button>
          )}
          <button type="button" onClick={() => signOut()}>
            Sign out
          </button>
        </>
      }
    >
      {isShown && (
        <CampaignPicker all={names} current={current} figures={campaigns} stale={live === false} onChoose={choose} />
      )}
      <Headline
        text={headline}
        ordered={awaits === "" ? ordered : ""}
        elsewhere={live === false ? [] : brokenElsewhere(campaigns, current, shown?.view.health)}
        view={live === false || awaits !== "" ? undefined : shown?.view}
        queueView={awaits === "" && live !== false && shown?.view.queue !== null ? shown?.queueView : undefined}
        onAct={ask}
        onChoose={choose}
      />
      {/* announces a problem once; the headline shows it */}
      <div role="alert" class="unseen">
        {headline.level === "bad" && <p>{`${headline.title}.`}</p>}
      </div>
      {shown !== undefined && (
        <div class={live === true && shown.view.queue !== null && awaits === "" ? undefined : "stale"}>
          <Live
            latest={shown.view}
            view={shown.queueView}
            position={position}
            refusedInHour={mine?.refused == null ? undefined : refusedIn(mine)}
            notes={uncheckedNote(shown.hour, several)}
            onMove={move}
            onAct={ask}
            isBlocked={isBlocked}
            onBlock={askToBlock}
          />
          <Charts
            client={client}
            campaign={campaign}
            range={range}
            refresh={refresh}
            onRange={(to) => go({ range: to })}
          />
          <div class="tables">
            {several && <Campaigns view={campaigns} current={current} onChoose={choose} />}
            <Budgets view={ofCurrent} />
            <div class="stack">
              <Search
                client={client}
                several={several}
                blockOf={(address) => blockOf(address, addresses)}
                onBlock={askToBlock}
                onLift={askToLift}
                onShow={showTicket}
              />
              <FrequentAddresses of={addresses} isBlocked={isBlocked} onBlock={askToBlock} />
              <BlockedAddresses of={addresses} onLift={askToLift} />
            </div>
            <div class="stack">
              <Refusals of={campaigns} />
              <Health items={shown.view.health} />
              <Instances view={shown.queueView} onReload={() => setAsked({ what: "reload" })} />
            </div>
            <More client={client} campaign={current} refresh={refresh} />
            <AuditLog
              page={auditLog}
              first={position.firstLine}
              only={position.only}
              onMove={(firstLine) => move({ firstLine })}
              onFilter={(only) => move({ only, firstLine: 0 })}
            />
          </div>
        </div>
      )}
      {asked?.what === "help" && <Help shortcuts={shortcuts} onClose={() => setAsked(undefined)} />}
      {asked?.what === "reload" && <Confirm question={reloadQuestion} onAnswer={answerReload} />}
      {asked?.what === "block" && (
        <BlockDialog
          address={asked.address}
          onCancel={() => setAsked(undefined)}
          onBlock={(address, millis) => block(address, millis === 0 ? 0 : Date.now() + millis)}
        />
      )}
      {asked?.what === "lift" && (
        <Confirm
          question={{
            title: `Lift the block of ${asked.address}?`,
            text: "Requests from there are served again, within seconds at every instance.",
            confirm: "Lift the block",
          }}
          onAnswer={(confirmed) => (confirmed ? block(asked.address, undefined) : setAsked(undefined))}
        />
      )}
      {asking?.campaign === campaign && (
        <Ask
          button={asking.button}
          campaign={several ? current : undefined}
          onAnswer={(action) => answer(asking.campaign, action)}
        />
      )}
    </Frame>
  )
}

/** What is to be said of addresses that were not checked, and of what was offered instead of a call, in the last hour. */
const uncheckedNote = (
  {
    total,
  }: {
    readonly total: (name: "letThroughUnchecked" | "refused.ip_check_failed" | "offered" | "offersTaken") => number
  },
  several: boolean,
): string => {
  const [passed, blocked, offered] = [total("letThroughUnchecked"), total("refused.ip_check_failed"), total("offered")]
  const where = several ? " at all campaigns" : ""
  const unchecked =
    passed + blocked === 0
      ? ""
      : `${count(passed + blocked)} addresses not checked${where}: ${count(passed)} allowed, ${count(blocked)} blocked. `
  return `${unchecked}${offered === 0 ? "" : `${several ? "All campaigns: another" : "Another"} way offered ${count(offered)} times, taken ${count(total("offersTaken"))}.`}`.trim()
}
