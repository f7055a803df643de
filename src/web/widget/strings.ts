/**
 * The widget's texts, in English; `languages/*.json` has them in other languages. A page can replace each of them; `{n}`, `{time}` and
 * the like are filled in. A text that depends on a number may have one form for each plural category (`one`, `few`, … and `other`) of
 * the widget's language.
 */
import type { extraStrings } from "./extra-strings.ts"
import { fill, isText, type Text } from "./fill.ts"
import type { Language } from "./language-tags.ts"
import type { visitStrings } from "./visit-strings.ts"

export type { Text } from "./fill.ts"

export const defaultStrings = {
  label: "Voice agent",
  "idle.title": "Talk to us",
  "idle.text": "Talk to our voice agent right here in your browser.",
  "idle.begin": "Start talking",
  "idle.hint": "Your browser will ask to use your microphone.",
  "microphone.title": "Allow the microphone",
  "microphone.text": "Choose Allow in your browser. Take your time – you haven’t joined the queue yet.",
  cancel: "Cancel",
  "try-again": "Try again",
  "no-microphone.denied.title": "Your microphone is blocked",
  "no-microphone.denied": "Allow microphone access for this site in your browser’s address bar, then try again.",
  "no-microphone.missing.title": "No microphone found",
  "no-microphone.missing": "Connect a microphone and try again.",
  "no-microphone.busy.title": "Your microphone is in use",
  "no-microphone.busy": "Close any other app that’s using your microphone, then try again.",
  "no-microphone.insecure.title": "Audio isn’t available here",
  "no-microphone.insecure": "Browsers allow audio only on secure (https) pages.",
  "no-microphone.no-sound.title": "Audio isn’t available on this page",
  "no-microphone.no-sound": "Your browser or this site’s settings are blocking audio.",
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
  "waiting.closed": "Closed until {time}. You’ll keep your place.",
  "waiting.no-estimate": "We don’t have an estimated wait yet.",
  "waiting.disrupted": "The voice agent is temporarily unavailable. You’ll keep your place.",
  "waiting.live": "Live",
  "waiting.link-lost": "Connection lost. Reconnecting – we’ll hold your place for a little while.",
  "waiting.hint": "Keep this tab open. We’ll let you know when it’s your turn. Your microphone is off until then.",
  "waiting.leave": "Leave the queue",
  "waiting.notify": "Notify me",
  "waiting.notified": "You’ll get a notification when it’s your turn.",
  "your-turn.title": "Your turn",
  "your-turn.text": "We’re holding your place for {time}.",
  "your-turn.no-limit": "We’re holding your place.",
  "your-turn.start": "Start the call",
  "your-turn.starting": "Starting",
  "your-turn.leave": "Leave",
  "your-turn.notification": "An agent is ready. Come back to start your call.",
  "in-call.title": "In call",
  "in-call.you": "You",
  "in-call.agent": "Agent",
  "in-call.mute": "Mute",
  "in-call.muted": "Muted",
  "in-call.hang-up": "Hang up",
  "in-call.messages": "Messages",
  "in-call.link-lost": "Your connection is down. The call will continue if it comes back soon.",
  "in-call.no-audio": "The audio has stopped. Tap the page to turn it on again.",
  "in-call.no-microphone": "Your microphone was disconnected or muted. The agent can’t hear you.",
  "in-call.quiet": "We haven’t heard from the agent yet.",
  "ended.again": "Talk again",
  "ended.lasted": "The call lasted {time}.",
  "ended.hung-up.title": "Call ended",
  "ended.hung-up": "You hung up.",
  "ended.remote.title": "Call ended",
  "ended.remote": "The agent ended the call.",
  "ended.lost.title": "The call dropped",
  "ended.lost": "The connection between you and the agent broke. Please call again.",
  "ended.unreached.title": "The call didn’t connect",
  "ended.unreached": "We couldn’t reach the agent. Please try again.",
  "ended.interrupted.title": "Your call was interrupted",
  "ended.interrupted": "Reloading or leaving the page ends the call.",
  "ended.no-sound.title": "The audio isn’t working",
  "ended.no-sound": "Your browser couldn’t play or record audio.",
  "ended.missed.title": "You missed your turn",
  "ended.missed": "You didn’t start the call in time, so we moved on to the next caller.",
  "ended.abandoned.title": "Your place has expired",
  "ended.abandoned": "This page was offline for too long.",
  "ended.unknown.title": "Your place has expired",
  "ended.unknown": "Please join the queue again.",
  "ended.elsewhere.title": "Open elsewhere",
  "ended.elsewhere": "You’re continuing in another window or device.",
  "ended.other.title": "You’ve been disconnected",
  "ended.other": "You can start another call.",
  "ended.removed": "You were removed from the queue.",
  "ended.reclaimed": "The call reached its time limit.",
  "ended.stopped": "The operator ended the call.",
  "refused.blocked.title": "Calls aren’t available on this network",
  "refused.rate_limited.title": "Too many calls for now",
  "refused.queue_full.title": "The queue is full",
  "refused.invalid_request.title": "This call isn’t available",
  "refused.unknown_campaign.title": "This call isn’t available",
  "refused.region_not_allowed.title": "This call isn’t available",
  "refused.other.title": "The agent isn’t available",
  "refused.other": "We can’t take calls right now. Please try again later.",
  "refused.blocked": "Calls don’t work over a VPN, a proxy, Tor and some networks. Turn it off or use another network.",
  "refused.rate_limited": "You’ve reached your limit of calls for now.",
  "refused.queue_full": "Too many people are waiting right now. Please try again later.",
  "refused.retry-in": "You can try again in {time}.",
  "refused.retry-now": "You can try again now.",
  "offline.title": "No connection",
  "offline.text": "We can’t connect right now. Trying again in {time}.",
  "offline.retry": "Try now",
  "notice.left": "You left the queue.",
  "notice.place-expired": "Your earlier place expired, so you’ve joined the queue again.",
  "notice.no-answer": "No response. Please try again.",
  "notice.microphone-again": "Allow the microphone again to start the call.",
  "notice.other": "Something went wrong. Please try again.",
  "notice.agent_busy": "The agent is busy again. You’ll keep your place and be called again.",
  "notice.agent_unavailable": "The voice agent is unavailable right now. You’ll keep your place and be called again.",
  "announce.place": "You’re number {n} in the queue.",
  "announce.your-turn": "It’s your turn. Start the call now.",
  "announce.offline": "No connection. Trying again automatically.",
  "announce.in-call": "You’re in the call.",
  "announce.unmuted": "Microphone on",
  "announce.link-back": "Your connection is back.",
  "floating.idle": "Talk to us",
  "floating.connecting": "Connecting",
  "floating.waiting": "Number {n} in the queue",
  "floating.your-turn": "Your turn",
  "floating.in-call": "In call {time}",
  "floating.offline": "No connection",
  "floating.minimize": "Minimize",
  "in-call.listening": "Listening",
  "in-call.speaking": "Speaking",
  "in-call.captions": "Captions",
  "in-call.hold": "Hold to talk",
  "in-call.write": "Write a message",
  "in-call.send": "Send",
  "refused.page_not_allowed": "Calls aren’t available on this page right now.",
  "refused.unknown_campaign": "Calls aren’t available on this page right now.",
  "refused.region_not_allowed": "Calls aren’t available on this page right now.",
  "check.begin": "Check your microphone",
  "check.title": "Check your microphone",
  "check.device": "Microphone",
  "check.number": "Microphone {n}",
  "check.level": "Microphone level",
  "check.speak": "Say something.",
  "check.heard": "We hear you.",
  "check.silent": "We can’t hear you yet. Try another microphone.",
  "check.done": "Done",
  "ended.copy": "Copy transcript",
  "ended.copied": "Copied",
  "ended.not-copied": "Couldn’t copy",
  language: "Language",
} as const satisfies Readonly<Record<string, Text>>

export type StringKey = keyof typeof defaultStrings | keyof typeof extraStrings | keyof typeof visitStrings

/** Replacements; also of texts of the gate, by code: `refused.{code}`, `refused.{code}.title`, `notice.{code}`. */
export type Strings = { readonly [Key in StringKey]?: Text } & {
  readonly [key: `refused.${string}` | `notice.${string}` | `ended.${string}`]: Text | undefined
}

/** Returns the first of these texts that exists, filled in. A page's texts come first, then those of the language, then English. */
export type Say = (keys: string | ReadonlyArray<string>, values?: Readonly<Record<string, string | number>>) => string

/** `strings` are the page's own, and `language` is that of the others. */
export const createSay =
  (strings: () => Strings, language: () => Language): Say =>
  (keys, values = {}) => {
    const { locale, texts } = language()
    const known = [strings(), texts, defaultStrings].flatMap(Object.entries<unknown>)
    const [text = ""] = [keys]
      .flat()
      .flatMap((key) => known.flatMap(([name, each]) => (name === key && isText(each) ? [each] : [])))
    return fill(text, locale, values)
  }
