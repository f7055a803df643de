/** Polls the gate: the view every two seconds, the audit log every ten. A hidden tab does not poll. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import type { AuditFilter, AuditLog, View } from "../../operator/shapes.ts"
import { type Client, isOtherVersion, isUnknown, isWrongToken, messageOf, type ViewRequest } from "./client.ts"
import { type QueueView, steadied } from "./headline.ts"
import { createHourCounts, type HourCounts } from "./hour-counts.ts"
import { signOut } from "./session.ts"

const VIEW_MILLIS = 2_000
const AUDIT_LOG_MILLIS = 10_000

/** The rows of a page of each list. */
export const ROWS = 6
export const AUDIT_LOG_ROWS = 8

/** The first row of each page. */
export interface Position {
  readonly firstSlot: number
  readonly firstPlace: number
  readonly firstLine: number
  /** which lines of the audit log; undefined for all */
  readonly only: AuditFilter | undefined
}

export const START: Position = { firstSlot: 0, firstPlace: 0, firstLine: 0, only: undefined }

export interface Shown {
  readonly view: View
  readonly hour: HourCounts
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
  /** why the gate did not answer the last request; empty when it did */
  readonly problem: string
  /** whether that is because the page is of another version than the gate */
  readonly outdated: boolean
  /** whether the gate answered the last request; undefined before the first answer */
  readonly live: boolean | undefined
  /** when the gate answered last, and when that is read, by the clock of the page; undefined before the first answer */
  readonly answered: { readonly at: number; readonly now: number } | undefined
}

/**
 * @param first the view from signing in, if there is one
 * @param campaign its name; empty for the default campaign
 * @param refresh a number that changes when everything must be asked for at once
 * @param onUnknown the gate has no campaign of this name
 */
export const useGate = (
  client: Client,
  first: View | undefined,
  campaign: string,
  position: Position,
  refresh: number,
  onUnknown: () => void,
): Polled => {
  const hour = useRef(createHourCounts()).current
  const [shown, setShown] = useState<Shown>()
  const [auditLog, setAuditLog] = useState<AuditLog>()
  const [contact, setContact] = useState<Pick<Polled, "live" | "outdated" | "problem">>({
    live: undefined,
    outdated: false,
    problem: "",
  })
  const { firstLine, firstPlace, firstSlot, only } = position

  const slow = useRef(0)
  const answeredAt = useRef<number | undefined>(undefined)
  const show = (answer: View): void => {
    hour.add(answer)
    const { view, slow: views } = steadied(answer, slow.current)
    slow.current = views
    const { queue } = view
    setShown((before) => {
      // what is known of another campaign is not of this one
      const known = before?.queueView?.campaign === view.campaign ? before.queueView : undefined
      return { view, hour, queueView: queue === null ? known : { ...view, queue } }
    })
    answeredAt.current = Date.now()
    setContact({ live: true, outdated: false, problem: "" })
  }
  useLayoutEffect(() => {
    if (first !== undefined) show(first)
  }, [first])

  const viewRequest = (): ViewRequest => ({ campaign, since: hour.since(), firstSlot, firstPlace, rows: ROWS })
  usePolling(
    () => client.view(viewRequest()),
    VIEW_MILLIS,
    [client, campaign, firstSlot, firstPlace, refresh],
    show,
    (error) => {
      if (isWrongToken(error)) signOut("The gate doesn’t accept this token any more.")
      else if (isUnknown(error) && campaign !== "") onUnknown()
      else setContact({ live: false, outdated: isOtherVersion(error), problem: `${messageOf(error)} Retrying.` })
    },
  )
  usePolling(
    () => client.auditLog(campaign, firstLine, AUDIT_LOG_ROWS, only),
    AUDIT_LOG_MILLIS,
    [client, campaign, firstLine, only, refresh],
    setAuditLog,
    // the view reports the problem
    () => {},
  )
  const answered = answeredAt.current === undefined ? undefined : { at: answeredAt.current, now: Date.now() }
  return { ...contact, answered, shown, auditLog }
}
