/**
 * The widget's first texts, in English, and those of the launcher; `visit-strings.ts` has the others, which come with the screens of a
 * visit, and `languages/*.json` has all of them in other languages. A page can replace each of them; `{n}`, `{time}` and
 * the like are filled in. A text that depends on a number may have one form for each plural category (`one`, `few`, … and `other`) of
 * the widget's language.
 */
import type { extraStrings } from "../extras/extra-strings.ts"
import type { Language } from "../languages/languages.ts"
import { fill, isText, type Text, type Values } from "./fill.ts"
import type { visitStrings } from "./visit-strings.ts"

export const defaultStrings = {
  label: "Voice agent",
  "idle.title": "Talk to us",
  "idle.text": "Our voice agent answers right here in your browser.",
  "idle.begin": "Start a call",
  "idle.join": "Join the queue",
  "idle.shut": "You can call from {time}.",
  "idle.paused": "Calls are paused. You can already join the queue.",
  "idle.paused-until": "Calls are paused until {time}. You can already join the queue.",
  "idle.write": "Write instead",
  "microphone.title": "Allow the microphone",
  "microphone.text": "Choose “Allow” in your browser.",
  cancel: "Cancel",
  "try-again": "Try again",
  "no-microphone.denied.title": "Your microphone is blocked",
  "no-microphone.denied": "Allow microphone access for this site in your browser’s address bar, then try again.",
  "no-microphone.missing.title": "No microphone found",
  "no-microphone.missing": "Connect a microphone, then try again.",
  "no-microphone.busy.title": "Your microphone is in use",
  "no-microphone.busy": "Close other apps that use your microphone, then try again.",
  "no-microphone.no-sound.title": "Audio isn’t available on this page",
  "no-microphone.no-sound": "Your browser or this site blocks audio. Try another browser.",
  "connecting.gate": "Connecting",
  "connecting.agent": "Connecting your call",
  "connecting.held": "The agent is busy. Please hold.",
  "waiting.title": "Your place in the queue",
  "waiting.ahead": { one: "One person is ahead of you.", other: "{n} people are ahead of you." },
  "waiting.next": "You’re next.",
  "waiting.estimate": "Estimated wait: {time}.",
  "waiting.soon": "Estimated wait: less than a minute.",
  "waiting.overdue": "This is taking longer than usual. You’ll keep your place.",
  "waiting.paused": "The queue is paused. You’ll keep your place.",
  "waiting.paused-until": "Paused until {time}. You’ll keep your place.",
  "waiting.disrupted": "The voice agent is temporarily unavailable. You’ll keep your place.",
  "waiting.link-lost": "Reconnecting… We’ll hold your place for a little while.",
  "waiting.hint": "Keep this tab open. We’ll let you know when it’s your turn. Your microphone is off until then.",
  "waiting.leave": "Leave the queue",
  "waiting.notify": "Notify me",
  "waiting.notified": "You’ll get a notification when it’s your turn.",
  "your-turn.title": "Your turn",
  "your-turn.text": "We’re holding your place for {time}.",
  "your-turn.start": "Start the call",
  "your-turn.starting": "Starting",
  "your-turn.notification": "An agent is ready. Come back to start your call.",
  "ended.hung-up.title": "Call ended",
  "ended.remote.title": "Call ended",
  "ended.lost.title": "The call dropped",
  "ended.unreached.title": "The call didn’t connect",
  "ended.interrupted.title": "Your call was interrupted",
  "ended.no-sound.title": "The audio isn’t working",
  "ended.missed.title": "You missed your turn",
  "ended.abandoned.title": "Your place has expired",
  "ended.unknown.title": "Your place has expired",
  "ended.elsewhere.title": "Open elsewhere",
  "ended.other.title": "You’ve been disconnected",
  "ended.closed.title": "We’re closed",
  "refused.blocked.title": "Calls aren’t available on this network",
  "refused.rate_limited.title": "You’ve reached your call limit",
  "refused.budget_exhausted.title": "The call time is used up for now",
  "refused.queue_full.title": "The queue is full",
  "refused.identity_required.title": "Please sign in",
  "refused.identity_refused.title": "Please sign in again",
  "refused.other.title": "The agent isn’t available",
  "refused.other": "Please try again later.",
  "refused.closed.title": "We’re closed",
  "refused.draining.title": "We’re not taking calls right now",
  "refused.retry-in": "Try again in {time}",
  "offline.title": "No connection",
  "offline.text": "Trying again in {time}.",
  "notice.left": "You left the queue.",
  "notice.place-expired": "Your earlier place expired, so you’ve joined the queue again.",
  "notice.microphone-again": "Allow the microphone again to start the call.",
  "notice.other": "Something went wrong. Please try again.",
  "notice.agent_busy": "The agent is busy again. You’ll keep your place and be called again.",
  "notice.agent_unavailable": "The voice agent is unavailable right now. You’ll keep your place and be called again.",
  "notice.offer_refused": "That isn’t available right now. You’ll keep your place.",
  "floating.waiting": "Number {n} in the queue",
  "floating.in-call": "In call {time}",
  "floating.minimize": "Minimize",
  "check.begin": "Check your microphone",
  "ended.copied": "Copied",
  "ended.not-copied": "Couldn’t copy",
  language: "Language",
} as const satisfies Readonly<Record<string, Text>>

export type StringKey = keyof typeof defaultStrings | keyof typeof visitStrings | keyof typeof extraStrings

/** Replacements; also of texts of the gate, by code: `refused.{code}`, `refused.{code}.title`, `notice.{code}`. */
export type Strings = { readonly [Key in StringKey]?: Text } & {
  readonly [key: `refused.${string}` | `notice.${string}` | `ended.${string}` | `floating.${string}`]: Text | undefined
}

/** Returns the first of these texts that exists, filled in. A page's texts come first, then those of the language, then English. */
export type Say = (keys: string | ReadonlyArray<string>, values?: Values) => string

/** `strings` are the page's own, and `language` is that of the others. */
export const createSay =
  (strings: () => Strings, language: () => Language): Say =>
  (keys, values = {}) => {
    const { locale, texts } = language()
    const known = [strings(), texts, defaultStrings]
    const [text = ""] = [keys]
      .flat()
      .flatMap((key) => known.map((each): unknown => Reflect.get(each, key)))
      .filter(isText)
    return fill(text, locale, values)
  }
