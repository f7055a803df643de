/** The actions of the console: their buttons, the question before each, and the texts for its outcome and its line in the audit log. */
import type { Action, ActionOutcome, AuditLine, HeldSlot, Queue, WaitingTicket } from "../../operator/shapes.ts"

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

const pause: ActionButton = {
  action: { type: "pause" },
  label: "Pause calls",
  question: {
    title: "Pause calls?",
    text: "Nobody is called until you resume. Newcomers join the queue. Running calls continue, and callers who were already called may still start.",
    confirm: "Pause",
  },
}
const resume: ActionButton = {
  action: { type: "resume" },
  label: "Resume calls",
  primary: true,
  question: {
    title: "Resume calls?",
    text: "Waiting callers are called to the free slots at once, in order.",
    confirm: "Resume",
  },
}
const drain: ActionButton = {
  action: { type: "drain" },
  label: "Drain",
  question: {
    title: "Drain the queue?",
    text: "Newcomers are told to come back later. Waiting callers are still served, and running calls continue.",
    confirm: "Drain",
  },
}
const reopen: ActionButton = {
  action: { type: "reopen" },
  label: "Take callers again",
  primary: true,
  question: {
    title: "Take callers again?",
    text: "Newcomers get a slot or a place in the queue as usual.",
    confirm: "Take callers",
  },
}
const callNext: ActionButton = {
  action: { type: "call" },
  label: "Call next now",
  question: {
    title: "Call the next one now?",
    text: "The first caller in the queue who is present is called to a free slot, even while calls are paused or the platform was at capacity. Without a free slot nothing happens.",
    confirm: "Call",
  },
}

/** The buttons of a campaign, always the same number, so that a switch remains the same element and keeps the focus. */
export const campaignButtons = (queue: Queue | undefined): ReadonlyArray<ActionButton> => [
  callNext,
  queue?.paused === true ? resume : pause,
  queue?.draining === true ? reopen : drain,
]

/** The buttons of a waiting ticket. */
export const waitingButtons = ({ seq, ticket }: WaitingTicket): ReadonlyArray<ActionButton> => [
  {
    action: { type: "remove", seq },
    label: "Remove",
    of: ticket,
    question: {
      title: `Remove ${ticket} from the queue?`,
      text: "The caller is notified and loses the place. The quota that the request used is not given back.",
      confirm: "Remove",
      danger: true,
    },
  },
]

/** The buttons of a held slot. */
export const slotButtons = ({ deadline, lease, state, ticket }: HeldSlot): ReadonlyArray<ActionButton> => [
  {
    action: { type: "end", lease, deadline },
    label: "End",
    of: `lease of ${ticket}`,
    question: {
      title: `End the lease of ${ticket}?`,
      text:
        state === "in_doubt"
          ? "The slot is free for the next caller at once. If the platform has started the session after all, it continues there until it ends by itself. The caller keeps the place."
          : "The slot is free for the next caller at once, and the caller is notified. A session that the platform has started may run on there until it ends by itself.",
      confirm: "End lease",
      danger: true,
    },
  },
]

const doneTexts: Readonly<Partial<Record<Action["type"], string>>> = {
  pause: "Calls are paused.",
  resume: "Calls are resumed.",
  drain: "The queue drains.",
  reopen: "Callers are taken again.",
}

const outcomeTexts: Readonly<Record<ActionOutcome["result"], (ticket: string, type: Action["type"]) => string>> = {
  done: (_, type) => doneTexts[type] ?? "Done.",
  already: () => "That was already so.",
  called: (ticket) => `${ticket} was called.`,
  no_slot: () => "Nobody was called: no slot is free.",
  nobody: () => "Nobody was called: no waiting caller is present.",
  more: () => "Many absent callers were removed. Call again.",
  removed: (ticket) => `${ticket} was removed from the queue.`,
  ended: (ticket) => `The lease of ${ticket} was ended.`,
  gone: () => "Nothing was done: it has ended or changed in the meantime.",
}

/** The outcome of an action, as text. */
export const outcomeText = ({ type }: Action, { result, ticket }: ActionOutcome): string =>
  outcomeTexts[result](ticket, type)

const loggedActions: Readonly<Record<string, string>> = {
  pause: "Paused calls",
  resume: "Resumed calls",
  drain: "Drained",
  reopen: "Took callers again",
  call: "Called next",
  remove: "Removed",
  end: "Ended lease of",
} satisfies Readonly<Record<Action["type"], string>>

const loggedResults: Readonly<Record<string, string>> = {
  done: "Done",
  already: "Already so",
  called: "Called",
  no_slot: "No free slot",
  nobody: "Nobody present",
  more: "Absent callers removed",
  removed: "Removed",
  ended_called: "Ended while called",
  ended_starting: "Ended while starting",
  ended_in_doubt: "Freed, start not confirmed",
  ended_live: "Ended in call",
  gone: "Already gone",
}

/** A line of the audit log, as texts. */
export const auditTexts = ({
  action,
  result,
  target,
}: AuditLine): { readonly what: string; readonly result: string } => ({
  what: `${loggedActions[action] ?? action}${target === "-" ? "" : ` ${target}`}`,
  result: loggedResults[result] ?? result,
})
