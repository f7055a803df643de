/** The console of a signed-in operator. Every action asks for confirmation first. */
import type { JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import type { Action, View } from "../../operator/shapes.ts"
import { announce } from "../shared/parts/announce.ts"
import { focusHeading } from "../shared/parts/focus.ts"
import { type ActionButton, outcomeText } from "./actions.ts"
import { type Client, messageOf } from "./client.ts"
import { Frame } from "./Frame.tsx"
import { AuditLog } from "./panels/AuditLog.tsx"
import { Charts } from "./panels/Charts.tsx"
import { Figures } from "./panels/Figures.tsx"
import { Health } from "./panels/Health.tsx"
import { Instances } from "./panels/Instances.tsx"
import { Slots } from "./panels/Slots.tsx"
import { State } from "./panels/State.tsx"
import { Waiting } from "./panels/Waiting.tsx"
import { Confirm } from "./parts/Confirm.tsx"
import { Mark } from "./parts/Mark.tsx"
import { type Position, type QueueView, START, useGate } from "./polling.ts"
import { signOut } from "./session.ts"
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
  const [refresh, setRefresh] = useState(0)
  const { auditLog, live, problem, shown } = useGate(client, first, position, refresh)
  const isShown = shown !== undefined

  const move = (to: Partial<Position>): void => setPosition((before) => ({ ...before, ...to }))
  const act = async (action: Action): Promise<void> => {
    try {
      announce(outcomeText(action, await client.act(position.campaign, action)), OUTCOME_MILLIS)
    } catch (error) {
      announce(`Not done: ${messageOf(error)}`, OUTCOME_MILLIS)
    }
    setRefresh((before) => before + 1)
  }
  const answer = ({ action }: ActionButton, confirmed: boolean): void => {
    setAsking(undefined)
    if (confirmed) void act(action)
  }

  useTitle(shown?.queueView)
  useEffect(() => {
    // after signing in the focus moves to the heading; after a reload the browser restores it
    if (isShown && first !== undefined) focusHeading()
  }, [isShown])

  return (
    <Frame
      session={
        <>
          {isShown && (
            <Campaigns
              all={shown.view.campaigns}
              current={position.campaign === "" ? shown.view.campaign : position.campaign}
              onChoose={(campaign) => setPosition({ ...START, campaign })}
            />
          )}
          {live !== undefined && (
            <Mark of={live ? "good" : "bad"} soft>
              {live ? "Live" : "Not live"}
            </Mark>
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
          <State queue={shown.queueView?.queue} now={shown.view.now} onAct={setAsking} />
          <Figures view={shown.queueView} minutes={shown.minutes} />
          <Charts minutes={shown.minutes} />
          <div class="tables">
            <Health items={shown.view.health} />
            <Instances view={shown.queueView} />
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
            <AuditLog page={auditLog} first={position.firstLine} onMove={(firstLine) => move({ firstLine })} />
          </div>
        </div>
      )}
      {asking !== undefined && (
        <Confirm question={asking.question} onAnswer={(confirmed) => answer(asking, confirmed)} />
      )}
    </Frame>
  )
}

const useTitle = (view: QueueView | undefined): void => {
  useEffect(() => {
    document.title =
      view === undefined
        ? "voicegate console"
        : `${stateOf(view.queue, view.now).title}, ${count(view.queue.waiting)} waiting: voicegate console`
  }, [view])
}

const Campaigns = ({
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
