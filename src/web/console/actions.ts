/** The actions of the console: their buttons, the question before each, and what each is called once it is done. */
import type { Action, HeldSlot, WaitingTicket } from "../../fifo-queue/operator-schemas.ts"
import type { Queue } from "../../operator/shapes.ts"

/** A button that asks its question and then performs its action. */
export interface ActionButton {
  readonly action: Action
  readonly label: string
  /** completes the label for screen readers where several buttons have the same one */
  readonly of?: string
  readonly primary?: boolean
  readonly question: Question
}

/** What a dialog asks before an action, and what it says the action will do. */
export interface Question {
  readonly title: string
  readonly text: string
  readonly confirm: string
  readonly danger?: boolean
}

/** A pause until a time (ms since 1970), or without an end. */
export const pauseUntil = (until: number | undefined): Action =>
  until === undefined ? { type: "pause" } : { type: "pause", until }

const pause: ActionButton = {
  action: { type: "pause" },
  label: "Pause calls",
  question: {
    title: "Pause calls?",
    text: "No one is called while calls are paused. New callers join the queue. Calls in progress continue, and callers who have already been called can still start.",
    confirm: "Pause",
  },
}
/** Changes when a pause ends; `until` is its end now (ms since 1970). */
export const changeEnd = (until: number | undefined): ActionButton => ({
  action: pauseUntil(until),
  label: "Change end",
  question: {
    title: "Change when the pause ends?",
    text: "Calls stay paused until then. Waiting callers are told the new time.",
    confirm: "Save",
  },
})
const resume: ActionButton = {
  action: { type: "resume" },
  label: "Resume calls",
  primary: true,
  question: {
    title: "Resume calls?",
    text: "Waiting callers get the free slots right away, in order.",
    confirm: "Resume",
  },
}
const drain: ActionButton = {
  action: { type: "drain" },
  label: "Drain",
  question: {
    title: "Drain the queue?",
    text: "New callers are asked to come back later. Waiting callers are still served, and calls in progress continue.",
    confirm: "Drain",
  },
}
const reopen: ActionButton = {
  action: { type: "reopen" },
  label: "Stop draining",
  primary: true,
  question: {
    title: "Stop draining?",
    text: "New callers get a slot or join the queue as usual.",
    confirm: "Stop draining",
  },
}
const callNext: ActionButton = {
  action: { type: "call" },
  label: "Call next",
  question: {
    title: "Call the next caller?",
    text: "Gives a free slot to the first caller who is present, even if calls are paused or the platform is at capacity. Nothing happens if no slot is free.",
    confirm: "Call next",
  },
}

/** A switch has the same name whatever it does now. */
export const campaignButtons = (queue: Queue | undefined) =>
  ({
    callNext,
    pauseOrResume: queue?.paused === true ? resume : pause,
    drainOrReopen: queue?.draining === true ? reopen : drain,
  }) satisfies Readonly<Record<string, ActionButton>>

export const waitingButtons = ({ seq, ticket }: WaitingTicket): ReadonlyArray<ActionButton> => [
  {
    action: { type: "remove", seq },
    label: "Remove",
    of: ticket,
    question: {
      title: `Remove ${ticket} from the queue?`,
      text: "The caller is notified and loses their place. The request still counts toward their limits.",
      confirm: "Remove",
      danger: true,
    },
  },
]

/** What ending a held slot is called, and what it does to the caller; by the state of the slot. */
const slotActions: Readonly<
  Record<
    Exclude<HeldSlot["state"], "ending">,
    { readonly label: string; readonly title: (ticket: string) => string; readonly text: string }
  >
> = {
  live: {
    label: "End call",
    title: (ticket) => `End the call of ${ticket}?`,
    text: "The call ends at the platform, then the slot goes to the next caller. If the platform can’t end it, the slot is freed anyway, within a minute, and the caller may go on talking.",
  },
  starting: {
    label: "Cancel start",
    title: (ticket) => `Cancel the start of ${ticket}?`,
    text: "The caller is told that they were removed, and the slot goes to the next caller right away. A session that the platform has started ends there, if the platform can end it.",
  },
  called: {
    label: "Remove",
    title: (ticket) => `Remove ${ticket}?`,
    text: "The caller has been called and hasn’t started. They are told that they were removed and lose their turn, and the slot goes to the next caller right away.",
  },
  in_doubt: {
    label: "Free slot",
    title: (ticket) => `Free the slot of ${ticket}?`,
    text: "The platform is searched for the session, and a session that it shows ends there before the slot goes to the next caller. A session that can’t be found keeps running until it ends. The caller keeps their place.",
  },
}

/** None while its call is being ended. */
export const slotButtons = ({ deadline, lease, state, ticket }: HeldSlot): ReadonlyArray<ActionButton> => {
  if (state === "ending") return []
  const { label, text, title } = slotActions[state]
  return [
    {
      action: { type: "end", lease, deadline },
      label,
      of: ticket,
      question: { title: title(ticket), text, confirm: label, danger: true },
    },
  ]
}

/** How the activity log names each action, and, if its result does not say it, what the console announces when the action is done. */
export const actionWords: Readonly<Record<Action["type"], { readonly logged: string; readonly done?: string }>> = {
  pause: { logged: "Paused calls" },
  resume: { logged: "Resumed calls", done: "Calls resumed." },
  drain: { logged: "Started draining", done: "Draining started." },
  reopen: { logged: "Stopped draining", done: "Draining stopped." },
  call: { logged: "Called next" },
  remove: { logged: "Removed" },
  end: { logged: "Ended" },
}

export const reloadQuestion: Question = {
  title: "Reload the settings?",
  text: "This instance reads its settings file again. No connection is closed, and everyone keeps their place. Reload the other instances too.",
  confirm: "Reload",
}
