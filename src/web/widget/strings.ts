/**
 * Everything the widget says. A page replaces what it likes; `{n}`, `{time}` and the like are filled in. A text that depends
 * on a number may be given by plural category (`one`, `few`, … and `other`), as the language of the widget counts.
 */

export type Text = string | (Partial<Record<Intl.LDMLPluralRule, string>> & { readonly other: string })

export const defaultStrings = {
  label: "Voice agent",
  "idle.title": "Talk to us",
  "idle.text": "Speak with our voice agent, here in your browser.",
  "idle.begin": "Start talking",
  "idle.hint": "Your browser asks for the microphone first.",
  "microphone.title": "Allow the microphone",
  "microphone.text": "Your browser is asking now. Nobody is kept waiting while you decide.",
  cancel: "Cancel",
  "try-again": "Try again",
  "no-microphone.denied.title": "The microphone is blocked",
  "no-microphone.denied": "Allow it for this site in your browser’s address bar, then try again.",
  "no-microphone.missing.title": "No microphone found",
  "no-microphone.missing": "Plug one in and try again.",
  "no-microphone.busy.title": "The microphone is in use",
  "no-microphone.busy": "Another program holds it. Close that and try again.",
  "no-microphone.insecure.title": "No sound at this address",
  "no-microphone.insecure": "Browsers give sound only to pages that are reached over https.",
  "no-microphone.no-sound.title": "No sound on this page",
  "no-microphone.no-sound": "Your browser, or this page’s settings, keep the sound back.",
  "connecting.gate": "Connecting",
  "connecting.agent": "Connecting the call",
  "waiting.title": "Your place in the queue",
  "waiting.ahead": { one: "One person is ahead of you.", other: "{n} people are ahead of you." },
  "waiting.next": "You are next.",
  "waiting.estimate": "About {time} to go.",
  "waiting.no-estimate": "We cannot tell yet how long it takes.",
  "waiting.disrupted": "The voice agent cannot be reached at the moment. You keep your place.",
  "waiting.live": "Live",
  "waiting.link-lost": "Connection lost. Connecting again; your place is kept for a short while.",
  "waiting.hint":
    "Keep this tab open: its title will say when it is your turn. Your microphone stays muted until then.",
  "waiting.leave": "Leave the queue",
  "waiting.notify": "Notify me",
  "waiting.notified": "You will get a notification when it is your turn.",
  "your-turn.title": "Your turn",
  "your-turn.text": "We hold the line for you for {time}.",
  "your-turn.no-limit": "We hold the line for you.",
  "your-turn.start": "Start the call",
  "your-turn.starting": "Starting",
  "your-turn.leave": "Leave",
  "your-turn.notification": "An agent is free. Come back to start the call.",
  "in-call.title": "In call",
  "in-call.you": "You",
  "in-call.agent": "Agent",
  "in-call.mute": "Mute",
  "in-call.muted": "Muted",
  "in-call.hang-up": "Hang up",
  "in-call.messages": "Messages",
  "in-call.link-lost": "Your connection is down. The call goes on when it comes back soon.",
  "in-call.no-microphone": "The microphone was disconnected; the agent hears nothing.",
  "ended.again": "Talk again",
  "ended.lasted": "The call lasted {time}.",
  "ended.hung-up.title": "Call ended",
  "ended.hung-up": "You hung up.",
  "ended.remote.title": "Call ended",
  "ended.remote": "The agent closed the call.",
  "ended.lost.title": "The call was cut off",
  "ended.lost": "Your connection was lost. Call again when it is back.",
  "ended.unreached.title": "The call did not connect",
  "ended.unreached": "The agent could not be reached. Please try again.",
  "ended.no-sound.title": "The call had no sound",
  "ended.no-sound": "Your browser could not start its audio.",
  "ended.missed.title": "You missed your turn",
  "ended.missed": "The call was not started in time, so the line went to the next.",
  "ended.abandoned.title": "Your place expired",
  "ended.abandoned": "We did not hear from this page for too long.",
  "ended.unknown.title": "Your place is gone",
  "ended.unknown": "This place in the queue is not known any more.",
  "ended.elsewhere.title": "Your place is open elsewhere",
  "ended.elsewhere": "Another window took this place in the queue over.",
  "ended.other.title": "The call is over",
  "ended.other": "{message}",
  "refused.blocked.title": "This connection may not call",
  "refused.rate_limited.title": "Too many calls for now",
  "refused.queue_full.title": "The queue is full",
  "refused.invalid_request.title": "The call was not accepted",
  "refused.unknown_campaign.title": "The call was not accepted",
  "refused.region_not_allowed.title": "The call was not accepted",
  "refused.other.title": "The agent is not available",
  "refused.other": "{message}",
  "refused.retry-in": "You can try again in {time}.",
  "refused.retry-now": "You can try again now.",
  "offline.title": "No connection",
  "offline.text": "We cannot be reached, or you are offline. Next attempt in {time}.",
  "offline.retry": "Try now",
  "notice.left": "You left the queue.",
  "notice.place-expired": "Your old place had expired, so this is a new one.",
  "notice.no-answer": "There was no answer. Please try again.",
  "notice.other": "{message}",
  "announce.place": "Place {n} in the queue.",
  "announce.your-turn": "It is your turn. Start the call now.",
  "announce.offline": "No connection. Trying again by itself.",
  "announce.in-call": "You are in the call.",
} as const satisfies Readonly<Record<string, Text>>

export type StringKey = keyof typeof defaultStrings

/** Replacements; also of texts of the gate, by code: `refused.{code}`, `refused.{code}.title`, `notice.{code}`. */
export type Strings = { readonly [Key in StringKey]?: Text } & {
  readonly [key: `refused.${string}` | `notice.${string}` | `ended.${string}`]: Text | undefined
}

const isKnown = (key: string): key is StringKey => key in defaultStrings

/** Gives the first of these texts that there is, filled in. Texts of a page win. */
export type Say = (keys: string | ReadonlyArray<string>, values?: Readonly<Record<string, string | number>>) => string

export const createSay = (strings: () => Strings, language: () => string): Say => {
  const find = (key: string): Text | undefined => {
    const own: unknown = Object.entries(strings()).find(([name]) => name === key)?.[1]
    return isText(own) ? own : isKnown(key) ? defaultStrings[key] : undefined
  }
  return (keys, values = {}) => {
    const [text = ""] = [keys].flat().flatMap((key) => find(key) ?? [])
    const plural = new Intl.PluralRules(language()).select(Number(values.n ?? 0))
    const chosen = typeof text === "string" ? text : (text[plural] ?? text.other)
    return chosen.replace(/\{(\w+)\}/g, (all, name: string) => String(values[name] ?? all))
  }
}

const isText = (value: unknown): value is Text =>
  typeof value === "string" ||
  (typeof value === "object" && value !== null && "other" in value && typeof value.other === "string")
