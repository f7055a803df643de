/**
 * The actions of an operator, in the words of the console and of the command line: their buttons, the question before each, their commands,
 * and what each result is called. To add one, begin in `fifo-queue/operator/actions.ts`.
 *
 * The console's page imports this file, so it needs nothing of Node.
 */

import type { Action, ActionOutcome } from "../fifo-queue/operator/actions.ts"
import type { HeldSlot, WaitingTicket } from "../fifo-queue/operator/schemas.ts"
import type { Queue } from "./shapes.ts"

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

/** @param live how many calls run now; undefined where that is not known */
const endCallsOf = (live: number | undefined): ActionButton => {
  const running = live === 0 ? "No call runs now. " : live === 1 ? "1 call runs now. " : `${live} calls run now. `
  return {
    action: { type: "end_calls" },
    label: "End all calls",
    question: {
      title: "End all calls of this campaign?",
      text: `${live === undefined ? "" : running}Every call that runs ends at the platform, and its caller is told that the operator ended it. The slots go to the next callers: pause calls first if nobody should be called. A platform that can’t be asked to end calls keeps them.`,
      confirm: "End all calls",
      danger: true,
    },
  }
}

/** A switch has the same name whatever it does now. */
export const campaignButtons = (queue: Queue | undefined) =>
  ({
    callNext,
    pauseOrResume: queue?.paused === true ? resume : pause,
    drainOrReopen: queue?.draining === true ? reopen : drain,
    endCalls: endCallsOf(queue?.live),
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
  end_calls: { logged: "Ended all calls" },
}

export const reloadQuestion: Question = {
  title: "Reload the settings?",
  text: "This instance reads its settings file again. No connection is closed, and everyone keeps their place. Reload the other instances too.",
  confirm: "Reload",
}

/** What an action did, in the words of the console. */
export const outcomeTexts: Readonly<Record<ActionOutcome["result"], (ticket: string, type: Action["type"]) => string>> =
  {
    done: (_, type) => actionWords[type].done ?? "Done.",
    already: () => "No change needed.",
    called: (ticket) => `${ticket} was called.`,
    no_slot: () => "No one was called: no slot is free.",
    nobody: () => "No one was called: nobody who may be called now is present.",
    more: () => "Cleared many absent callers. Try again.",
    removed: (ticket) => `Removed ${ticket} from the queue.`,
    ended: (ticket) => `Ended ${ticket}. The slot is free.`,
    freed: (ticket) => `The slot of ${ticket} is free. Its call may still be running at the platform.`,
    ending: (ticket) => `The platform hasn’t confirmed the end of ${ticket} yet. The slot is free within a minute.`,
    ending_calls: (calls) =>
      calls === "0"
        ? "No call runs."
        : calls === "1"
          ? "1 call is being ended. Its slot is free within a minute."
          : `${calls} calls are being ended. Their slots are free within a minute.`,
    cannot_end: (calls) =>
      calls === "0"
        ? "No call runs."
        : `The platform can’t be asked to end calls. ${calls} ${calls === "1" ? "call runs" : "calls run"} on.`,
    gone: () => "Nothing to do: it has already ended or changed.",
  }

/** The same in a line of the activity log; some results say there what the slot held. */
export const loggedResults: Readonly<Record<string, string>> = {
  done: "Done",
  already: "No change",
  called: "Called",
  no_slot: "No free slot",
  nobody: "No one present",
  more: "Absent callers cleared",
  removed: "Removed",
  ended_called: "Removed after being called",
  ended_starting: "Start canceled",
  ended_in_doubt: "Freed, start unconfirmed",
  ended_live: "Call ended",
  ending_live: "Asked the platform",
  ended_at_platform: "Ended at the platform",
  freed_live: "Freed, may still run at the platform",
  ending_calls: "Asked the platform",
  cannot_end: "Can’t be ended by the gate",
  gone: "Already gone",
}

/** Results that say of how many calls, and of no ticket. */
type AllCalls = "ending_calls" | "cannot_end"

/** The actions on a campaign that take no parameters. */
export type CampaignAction = Exclude<Action["type"], "pause" | "remove" | "end" | "end_calls">

/** The commands of these actions, below `voicegate campaign`. */
export const campaignCommands: Readonly<
  Record<CampaignAction, { readonly command: string; readonly description: string }>
> = {
  resume: { command: "resume", description: "End a pause" },
  drain: { command: "drain", description: "Drain: new callers are turned away, and waiting callers are still served" },
  reopen: { command: "reopen", description: "End draining" },
  call: {
    command: "next",
    description: "Call the first present caller to a free slot; exit code 1 when nobody can be called",
  },
}

/** What an action did, in the words of the command line: of all calls of a campaign with their number, else without the ticket. */
export const commandTexts: Readonly<
  Record<Exclude<ActionOutcome["result"], AllCalls>, string> & Record<AllCalls, (calls: string) => string>
> = {
  done: "Done.",
  already: "Nothing to do: it is already in that state.",
  called: "The first caller in line who is present was called.",
  no_slot: "No one was called: no slot is free.",
  nobody: "No one was called: nobody who may be called now is present.",
  more: "Cleared many absent callers. Run the command again.",
  removed: "The ticket was removed, and its caller was told.",
  ended: "It is over, and its slot is free.",
  freed: "The slot is free. The platform did not end the call, which may still run there.",
  ending:
    "The platform was asked to end the call and has not confirmed it. The gate asks again, and the slot is free within a minute at the latest.",
  ending_calls: (calls) => outcomeTexts.ending_calls(calls, "end_calls"),
  cannot_end: (calls) => outcomeTexts.cannot_end(calls, "end_calls"),
  gone: "Nothing was done: the ticket has ended or changed, or the time of the pause has passed. Look at it again.",
}

/** With these, a command ends with exit code 1. */
export const FAILED_RESULTS: ReadonlyArray<ActionOutcome["result"]> = [
  "no_slot",
  "nobody",
  "more",
  "cannot_end",
  "gone",
]
