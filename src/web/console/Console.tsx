/** The console of somebody who is signed in: looks every two seconds, and acts after a question. */
import type { JSX } from "preact"
import { useEffect, useState } from "preact/hooks"
import type { Action, View } from "../../operator/shapes.ts"
import { announce } from "../shared/parts/announce.ts"
import { focusHeading } from "../shared/parts/focus.ts"
import { type Client, why } from "./client.ts"
import { Frame } from "./Frame.tsx"
import { type Looked, type Place, START, useLook } from "./look.ts"
import { Charts } from "./panels/Charts.tsx"
import { Figures } from "./panels/Figures.tsx"
import { Health } from "./panels/Health.tsx"
import { Instances } from "./panels/Instances.tsx"
import { Line } from "./panels/Line.tsx"
import { Slots } from "./panels/Slots.tsx"
import { State } from "./panels/State.tsx"
import { Trail } from "./panels/Trail.tsx"
import { Ask } from "./parts/Ask.tsx"
import { Mark } from "./parts/Mark.tsx"
import { signOut } from "./session.ts"
import * as words from "./words.ts"

const SAID_MILLIS = 6_000

interface Asking {
  readonly action: Action
  readonly question: words.Question
}

export const Console = ({
  client,
  first,
}: {
  readonly client: Client
  readonly first: View | undefined
}): JSX.Element => {
  const [place, setPlace] = useState(START)
  const [asking, setAsking] = useState<Asking>()
  const [turn, setTurn] = useState(0)
  const { live, looked, trail, trouble } = useLook(client, first, place, turn)
  const isShown = looked !== undefined

  const move = (to: Partial<Place>): void => setPlace((before) => ({ ...before, ...to }))
  const askFirst = (action: Action, ticket?: string, state?: string): void =>
    setAsking({ action, question: words.question(action, ticket, state) })
  const act = async (action: Action): Promise<void> => {
    try {
      announce(words.outcome(action, await client.act(place.campaign, action)), SAID_MILLIS)
    } catch (error) {
      announce(`Not done: ${why(error)}`, SAID_MILLIS)
    }
    setTurn((before) => before + 1)
  }
  const answer = (action: Action, yes: boolean): void => {
    setAsking(undefined)
    if (yes) void act(action)
  }

  useTitle(looked)
  useEffect(() => {
    // who came through the form goes on at the heading; after a reload the browser knows where
    if (isShown && first !== undefined) focusHeading()
  }, [isShown])

  return (
    <Frame
      session={
        <>
          {isShown && (
            <Campaigns
              all={looked.view.campaigns}
              current={place.campaign === "" ? looked.view.campaign : place.campaign}
              onChoose={(campaign) => setPlace({ ...START, campaign })}
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
      {trouble !== "" && (
        <p class="banner" role="alert">
          {trouble}
        </p>
      )}
      {isShown && (
        <div class={trouble === "" ? undefined : "stale"}>
          <State queue={looked.known?.queue} now={looked.view.now} onAct={askFirst} />
          <Figures known={looked.known} minutes={looked.minutes} />
          <Charts minutes={looked.minutes} />
          <div class="tables">
            <Health items={looked.view.health} />
            <Instances known={looked.known} />
            <Slots
              known={looked.known}
              first={place.firstSlot}
              onMove={(firstSlot) => move({ firstSlot })}
              onEnd={({ deadline, lease, state, ticket }) => askFirst({ type: "end", lease, deadline }, ticket, state)}
            />
            <Line
              known={looked.known}
              first={place.firstPlace}
              onMove={(firstPlace) => move({ firstPlace })}
              onRemove={({ seq, ticket }) => askFirst({ type: "remove", seq }, ticket)}
            />
            <Trail page={trail} first={place.firstLine} onMove={(firstLine) => move({ firstLine })} />
          </div>
        </div>
      )}
      {asking !== undefined && <Ask question={asking.question} onAnswer={(yes) => answer(asking.action, yes)} />}
    </Frame>
  )
}

const useTitle = (looked: Looked | undefined): void => {
  const known = looked?.known
  useEffect(() => {
    document.title =
      known === undefined
        ? "voicegate console"
        : `${words.mood(known.queue, known.now).title}, ${words.count(known.queue.waiting)} waiting: voicegate console`
  }, [known])
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
