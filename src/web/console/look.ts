/** What the page shows of the gate: asked for every two seconds, and what operators did every ten. A tab that nobody looks at asks for nothing. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import type { Trail, View } from "../../operator/shapes.ts"
import { type Asked, type Client, isWrongToken, why } from "./client.ts"
import { createHistory, type Minutes } from "./history.ts"
import { signOut } from "./session.ts"

const VIEW_MILLIS = 2_000
/** Other operators act seldom. */
const TRAIL_MILLIS = 10_000

/** Rows of a page. */
export const ROWS = 25
export const TRAIL_ROWS = 10

const STORE_AWAY = "The store cannot be reached. What is shown of slots and queue is the last that was known."

/** Where the pages begin. */
export interface Place {
  /** empty for the default one */
  readonly campaign: string
  readonly firstSlot: number
  readonly firstPlace: number
  readonly firstLine: number
}

export const START: Place = { campaign: "", firstSlot: 0, firstPlace: 0, firstLine: 0 }

/** A view with the queue in it, and the place in line of its first ticket. */
export interface Known extends View {
  readonly queue: NonNullable<View["queue"]>
  readonly firstPlace: number
}

export interface Looked {
  readonly view: View
  readonly minutes: Minutes
  /** the last view that had the queue in it; it stays while the store is away */
  readonly known: Known | undefined
}

/**
 * Asks at once, and again so long (ms) after each answer while the tab is seen. When `about` changes it asks anew, and an answer to the
 * older question is dropped.
 */
const usePolled = <A>(
  ask: () => Promise<A>,
  everyMillis: number,
  about: ReadonlyArray<unknown>,
  answered: (answer: A) => void,
  failed: (error: unknown) => void,
): void => {
  useEffect(() => {
    let over = false
    let asking = 0
    let timer: number | undefined
    const now = async (): Promise<void> => {
      clearTimeout(timer)
      const question = ++asking
      const isOld = (): boolean => over || question !== asking
      await ask().then(
        (answer) => {
          if (!isOld()) answered(answer)
        },
        (error: unknown) => {
          if (!isOld()) failed(error)
        },
      )
      if (!isOld() && !document.hidden) timer = window.setTimeout(now, everyMillis)
    }
    const seen = (): void => {
      if (!document.hidden) void now()
    }
    void now()
    document.addEventListener("visibilitychange", seen)
    return () => {
      over = true
      clearTimeout(timer)
      document.removeEventListener("visibilitychange", seen)
    }
  }, about)
}

export interface Look {
  /** undefined before the first answer */
  readonly looked: Looked | undefined
  readonly trail: Trail | undefined
  /** why what is shown may be old; empty when it is not */
  readonly trouble: string
  /** whether the gate gave the last answer that was asked for; undefined before the first */
  readonly live: boolean | undefined
}

/** @param turn changes when something was done: all is asked for at once */
export const useLook = (client: Client, first: View | undefined, place: Place, turn: number): Look => {
  const history = useRef(createHistory()).current
  const [looked, setLooked] = useState<Looked>()
  const [trail, setTrail] = useState<Trail>()
  const [{ live, trouble }, setState] = useState<Pick<Look, "live" | "trouble">>({ live: undefined, trouble: "" })
  const { campaign, firstLine, firstPlace, firstSlot } = place

  const show = (view: View): void => {
    history.add(view)
    const { queue } = view
    setLooked((before) => ({
      view,
      minutes: history.minutes(view.now),
      known: queue === null ? before?.known : { ...view, queue, firstPlace },
    }))
    setState({ live: true, trouble: queue === null ? STORE_AWAY : "" })
  }
  useLayoutEffect(() => {
    if (first !== undefined) show(first)
  }, [first])

  const asked = (): Asked => ({ campaign, since: history.since(), firstSlot, firstPlace, rows: ROWS })
  usePolled(
    () => client.view(asked()),
    VIEW_MILLIS,
    [client, campaign, firstSlot, firstPlace, turn],
    show,
    (error) =>
      isWrongToken(error)
        ? signOut("This token is not right.")
        : setState({ live: false, trouble: `${why(error)} Trying again.` }),
  )
  usePolled(
    () => client.trail(campaign, firstLine, TRAIL_ROWS),
    TRAIL_MILLIS,
    [client, campaign, firstLine, turn],
    setTrail,
    // the view says what is wrong
    () => {},
  )
  return { looked, trail, trouble, live }
}
