/** The console of a signed-in operator. Every action asks for confirmation first. */

import type { JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import type { Action } from "../../fifo-queue/operator/actions.ts"
import { type ActionButton, campaignButtons, reloadQuestion } from "../../operator/action-words.ts"
import type { FoundTicket, View } from "../../operator/shapes.ts"
import { announce } from "../shared/parts/announce.ts"
import { focusHeading } from "../shared/parts/focus.ts"
import { type Client, messageOf } from "./client.ts"
import { Frame } from "./Frame.tsx"
import { outcomeText, reloadText } from "./outcomes.ts"
import { AuditLog } from "./panels/AuditLog.tsx"
import { Budgets } from "./panels/Budgets.tsx"
import { Campaigns } from "./panels/Campaigns.tsx"
import { Charts } from "./panels/Charts.tsx"
import { Figures } from "./panels/Figures.tsx"
import { Health } from "./panels/Health.tsx"
import { Instances } from "./panels/Instances.tsx"
import { focusSearch, Search } from "./panels/Search.tsx"
import { Slots } from "./panels/Slots.tsx"
import { State } from "./panels/State.tsx"
import { Waiting } from "./panels/Waiting.tsx"
import { Ask } from "./parts/Ask.tsx"
import { Confirm } from "./parts/Confirm.tsx"
import { Help } from "./parts/Help.tsx"
import { Mark } from "./parts/Mark.tsx"
import { type Position, type QueueView, ROWS, START, useGate } from "./polling.ts"
import { signOut } from "./session.ts"
import { type Shortcut, useShortcuts } from "./shortcuts.ts"
import { count, stateOf } from "./words.ts"

/** How long the outcome of an action is shown. */
const OUTCOME_MILLIS = 6_000

export const Console = ({
  client,
  first,
}: {
  readonly client: Client
  readonly first: View | undefined
}): JSX.Element => {
  const [position, setPosition] = useState(START)
  const [asking, setAsking] = useState<ActionButton>()
  const [reloading, setReloading] = useState(false)
  const [helping, setHelping] = useState(false)
  const [refresh, setRefresh] = useState(0)
  const { auditLog, live, problem, shown } = useGate(client, first, position, refresh)
  const isShown = shown !== undefined

  const move = (to: Partial<Position>): void => setPosition((before) => ({ ...before, ...to }))
  const act = async (action: Action): Promise<void> => {
    try {
      announce(outcomeText(action, await client.act(position.campaign, action)), OUTCOME_MILLIS)
    } catch (error) {
      announce(`Action failed: ${messageOf(error)}`, OUTCOME_MILLIS)
    }
    setRefresh((before) => before + 1)
  }
  const reload = async (): Promise<void> => {
    try {
      announce(reloadText(await client.reload()), OUTCOME_MILLIS)
    } catch (error) {
      announce(`Reload failed: ${messageOf(error)}`, OUTCOME_MILLIS)
    }
    setRefresh((before) => before + 1)
  }
  const answerReload = (confirmed: boolean): void => {
    setReloading(false)
    if (confirmed) void reload()
  }
  /** Closes the question, and performs the action if there is one. */
  const answer = (action?: Action): void => {
    setAsking(undefined)
    if (action !== undefined) void act(action)
  }

  const campaigns = shown?.view.campaigns ?? []
  const several = campaigns.length > 1
  const current = position.campaign === "" ? (shown?.view.campaign ?? "") : position.campaign
  /** The first page of every list of a campaign. */
  const startOf = (campaign: string): Position => ({ ...START, campaign, only: position.only })
  const choose = (campaign: string): void => setPosition(startOf(campaign))
  const chooseBy = (steps: number): void => {
    const next = campaigns.at((campaigns.indexOf(current) + steps) % Math.max(1, campaigns.length))
    if (next !== undefined && next !== current) {
      choose(next)
      announce(`Campaign ${next}.`, OUTCOME_MILLIS)
    }
  }
  const showTicket = ({ campaign, row, state }: FoundTicket): void => {
    const page = Math.floor(row / ROWS) * ROWS
    setPosition({ ...startOf(campaign), ...(state === "waiting" ? { firstPlace: page } : { firstSlot: page }) })
    document.querySelector<HTMLElement>(state === "waiting" ? ".queue .scroll" : ".slots .scroll")?.focus()
  }
  const { callNext, drainOrReopen, pauseOrResume } = campaignButtons(shown?.queueView?.queue)
  const shortcuts: ReadonlyArray<Shortcut> = [
    { key: "n", does: "Call next", run: () => setAsking(callNext) },
    { key: "p", does: "Pause or resume calls", run: () => setAsking(pauseOrResume) },
    { key: "d", does: "Drain, or stop draining", run: () => setAsking(drainOrReopen) },
    { key: "]", does: "Next campaign", run: () => chooseBy(1) },
    { key: "[", does: "Previous campaign", run: () => chooseBy(-1) },
    { key: "/", does: "Find a ticket", run: focusSearch },
    { key: "r", does: "Refresh now", run: () => setRefresh((before) => before + 1) },
    { key: "?", does: "Show keyboard shortcuts", run: () => setHelping(true) },
  ]
  useShortcuts(isShown ? shortcuts : [])

  useTitle(shown?.queueView)
  useEffect(() => {
    // after signing in the focus moves to the heading; after a reload the browser restores it
    if (isShown && first !== undefined) focusHeading()
  }, [isShown])

  return (
    <Frame
      session={
        <>
          {isShown && <CampaignSelect all={campaigns} current={current} onChoose={choose} />}
          {live !== undefined && (
            <Mark of={live ? "good" : "bad"} soft>
              {live ? "Live" : "Disconnected"}
            </Mark>
          )}
          {isShown && (
            <button type="button" class="quiet" onClick={() => setHelping(true)}>
              Shortcuts
            </button>
          )}
          <button type="button" onClick={() => signOut()}>
            Sign out
          </button>
        </>
      }
    >
      {problem !== "" && (
        <p class="banner" role="alert">
          {problem}
        </p>
      )}
      {isShown && (
        <div class={problem === "" ? undefined : "stale"}>
          <State queue={shown.queueView?.queue} hours={shown.view.hours} now={shown.view.now} onAct={setAsking} />
          <Figures view={shown.queueView} minutes={shown.minutes} several={several} />
          <Charts minutes={shown.minutes} several={several} />
          <Search client={client} several={several} onShow={showTicket} />
          <div class="tables">
            {several && <Campaigns client={client} current={current} refresh={refresh} onChoose={choose} />}
            <Budgets client={client} current={current} refresh={refresh} />
            <Health items={shown.view.health} />
            <Instances view={shown.queueView} onReload={() => setReloading(true)} />
            <Slots
              view={shown.queueView}
              first={position.firstSlot}
              onMove={(firstSlot) => move({ firstSlot })}
              onAct={setAsking}
            />
            <Waiting
              view={shown.queueView}
              first={position.firstPlace}
              onMove={(firstPlace) => move({ firstPlace })}
              onAct={setAsking}
            />
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
      {helping && <Help shortcuts={shortcuts} onClose={() => setHelping(false)} />}
      {reloading && <Confirm question={reloadQuestion} onAnswer={answerReload} />}
      {asking !== undefined && <Ask button={asking} onAnswer={answer} />}
    </Frame>
  )
}

const useTitle = (view: QueueView | undefined): void => {
  useEffect(() => {
    document.title =
      view === undefined
        ? "voicegate console"
        : `${stateOf(view.queue, view.now, view.hours).title}, ${count(view.queue.waiting)} waiting: voicegate console`
  }, [view])
}

const CampaignSelect = ({
  all,
  current,
  onChoose,
}: {
  readonly all: ReadonlyArray<string>
  readonly current: string
  readonly onChoose: (name: string) => void
}): JSX.Element | null =>
  all.length < 2 ? null : (
    <select aria-label="Campaign" value={current} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
      {all.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  )
