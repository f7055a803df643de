/** Polls the gate: the view every two seconds, the audit log every ten. A hidden tab does not poll. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import type { AuditFilter, AuditLog, View } from "../../operator/shapes.ts"
import { type Client, isWrongToken, messageOf, type ViewRequest } from "./client.ts"
import { createCountHistory, type Minutes } from "./minutes.ts"
import { signOut } from "./session.ts"

const VIEW_MILLIS = 2_000
const AUDIT_LOG_MILLIS = 10_000

export const ROWS = 25
export const AUDIT_LOG_ROWS = 10

const STORE_UNAVAILABLE = "The store is unreachable. Slots and queue are shown as last known."

/** The campaign that is shown, and the first row of each page. */
export interface Position {
  /** empty for the default campaign */
  readonly campaign: string
  readonly firstSlot: number
  readonly firstPlace: number
  readonly firstLine: number
  /** which lines of the audit log; undefined for all */
  readonly only: AuditFilter | undefined
}

export const START: Position = { campaign: "", firstSlot: 0, firstPlace: 0, firstLine: 0, only: undefined }

/** A view that contains the queue. */
export interface QueueView extends View {
  readonly queue: NonNullable<View["queue"]>
}

export interface Shown {
  readonly view: View
  readonly minutes: Minutes
  /** the last view that contained the queue, which remains while the store is unavailable */
  readonly queueView: QueueView | undefined
}

/**
 * Sends a request at once, and again `everyMillis` after each answer while the tab is visible. When `inputs`, on which the request depends,
 * change, it sends a new request at once and ignores the answer to the old one. Stops when the component goes.
 */
export const usePolling = <A>(
  request: () => Promise<A>,
  everyMillis: number,
  inputs: ReadonlyArray<unknown>,
  onAnswer: (answer: A) => void,
  onError: (error: unknown) => void,
): void => {
  useEffect(() => {
    let stopped = false
    let latest = 0
    let timer: number | undefined
    const poll = async (): Promise<void> => {
      clearTimeout(timer)
      const number = ++latest
      const isOutdated = (): boolean => stopped || number !== latest
      await request().then(
        (answer) => {
          if (!isOutdated()) onAnswer(answer)
        },
        (error: unknown) => {
          if (!isOutdated()) onError(error)
        },
      )
      if (!isOutdated() && !document.hidden) timer = window.setTimeout(poll, everyMillis)
    }
    const onVisibilityChange = (): void => {
      if (!document.hidden) void poll()
    }
    void poll()
    document.addEventListener("visibilitychange", onVisibilityChange)
    return () => {
      stopped = true
      clearTimeout(timer)
      document.removeEventListener("visibilitychange", onVisibilityChange)
    }
  }, inputs)
}

export interface Polled {
  /** undefined before the first answer */
  readonly shown: Shown | undefined
  readonly auditLog: AuditLog | undefined
  /** why the page may be out of date; empty when it is not */
  readonly problem: string
  /** whether the gate answered the last request; undefined before the first answer */
  readonly live: boolean | undefined
}

/**
 * @param first the view from signing in, if there is one
 * @param refresh a number that changes when everything must be asked for at once
 */
export const useGate = (client: Client, first: View | undefined, position: Position, refresh: number): Polled => {
  const history = useRef(createCountHistory()).current
  const [shown, setShown] = useState<Shown>()
  const [auditLog, setAuditLog] = useState<AuditLog>()
  const [{ live, problem }, setState] = useState<Pick<Polled, "live" | "problem">>({ live: undefined, problem: "" })
  const { campaign, firstLine, firstPlace, firstSlot, only } = position

  const show = (view: View): void => {
    history.add(view)
    const { queue } = view
    setShown((before) => ({
      view,
      minutes: history.minutes(view.now),
      queueView: queue === null ? before?.queueView : { ...view, queue },
    }))
    setState({ live: true, problem: queue === null ? STORE_UNAVAILABLE : "" })
  }
  useLayoutEffect(() => {
    if (first !== undefined) show(first)
  }, [first])

  const viewRequest = (): ViewRequest => ({ campaign, since: history.since(), firstSlot, firstPlace, rows: ROWS })
  usePolling(
    () => client.view(viewRequest()),
    VIEW_MILLIS,
    [client, campaign, firstSlot, firstPlace, refresh],
    show,
    (error) =>
      isWrongToken(error)
        ? signOut("Incorrect token.")
        : setState({ live: false, problem: `${messageOf(error)} Retrying.` }),
  )
  usePolling(
    () => client.auditLog(campaign, firstLine, AUDIT_LOG_ROWS, only),
    AUDIT_LOG_MILLIS,
    [client, campaign, firstLine, only, refresh],
    setAuditLog,
    // the view reports the problem
    () => {},
  )
  return { shown, auditLog, problem, live }
}
