/** The widget's texts that depend on the state, and the announcements for screen readers. */

import type { Notice, Place, VoiceAgentState } from "./state.ts"
import type { Say } from "./strings.ts"

type State<Name extends VoiceAgentState["name"]> = Extract<VoiceAgentState, { readonly name: Name }>

/** A duration in words of a language: `40 seconds`, `3 minutes`. */
export const span = (seconds: number, language: string): string => {
  const [count, unit] =
    seconds < 60
      ? [Math.max(1, Math.ceil(seconds)), "second"]
      : seconds < 3_600
        ? [Math.round(seconds / 60), "minute"]
        : [Math.round(seconds / 3_600), "hour"]
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(count)
}

/** A running clock: `0:07`, `1:02:03`. */
export const clock = (millis: number): string => {
  const seconds = Math.max(0, Math.floor(millis / 1_000))
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60]
  const hours = Math.floor(seconds / 3_600)
  if (hours > 0) parts.unshift(hours)
  return parts.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, "0"))).join(":")
}

/** Like `clock`, but rounded up and never below 0, so that 0:00 means now. */
export const countdown = (millis: number): string => clock(Math.ceil(Math.max(0, millis) / 1_000) * 1_000)

export const ahead = ({ position }: Place, say: Say): string =>
  position <= 1 ? say("waiting.next") : say("waiting.ahead", { n: position - 1 })

/** The estimated wait; unknown while the voice agent cannot be reached. */
export const estimate = ({ disrupted, estimatedWait }: Place, say: Say, language: string): string => {
  if (disrupted) return say("waiting.disrupted")
  return estimatedWait === undefined
    ? say("waiting.no-estimate")
    : say("waiting.estimate", { time: span(estimatedWait, language) })
}

export const noMicrophone = ({ problem }: State<"no-microphone">, say: Say): readonly [title: string, text: string] => [
  say(`no-microphone.${problem}.title`),
  say(`no-microphone.${problem}`),
]

export const ended = ({ reason, message }: State<"ended">, say: Say): readonly [title: string, text: string] => [
  say([`ended.${reason}.title`, "ended.other.title"], { message }),
  say([`ended.${reason}`, "ended.other"], { message }),
]

export const refused = ({ code, message }: State<"refused">, say: Say): readonly [title: string, text: string] => [
  say([`refused.${code}.title`, "refused.other.title"]),
  say([`refused.${code}`, "refused.other"], { message }),
]

export const notice = (given: Notice | undefined, say: Say): string =>
  given === undefined
    ? ""
    : say([`notice.${given.code}`, `no-microphone.${given.code}`, "notice.other"], { message: given.message })

/** The announcement of a state. It contains no running times, so that it is announced only once. */
export const announcement = (state: VoiceAgentState, say: Say): string => {
  switch (state.name) {
    case "idle":
      return notice(state.notice, say)
    case "checking-microphone":
      return `${say("microphone.title")}. ${say("microphone.text")}`
    case "no-microphone":
      return noMicrophone(state, say).join(". ")
    case "connecting":
      return say(`connecting.${state.to}`)
    case "waiting": {
      const place = `${say("announce.place", { n: state.place.position })} ${ahead(state.place, say)}`
      const trouble = [
        state.place.disrupted ? say("waiting.disrupted") : "",
        state.link ? "" : say("waiting.link-lost"),
        notice(state.notice, say),
      ]
      return [place, ...trouble].filter(Boolean).join(" ")
    }
    case "your-turn":
      return state.starting
        ? say("your-turn.starting")
        : `${say("announce.your-turn")} ${notice(state.notice, say)}`.trim()
    case "in-call":
      if (!state.microphone) return say("in-call.no-microphone")
      if (!state.link) return say("in-call.link-lost")
      return say(state.muted ? "in-call.muted" : "announce.in-call")
    case "ended":
      return ended(state, say).join(". ")
    case "refused":
      return refused(state, say).join(". ")
    case "offline":
      return say("announce.offline")
  }
}
