/** The page's sentences, where they depend on something. */
import type { NoMicrophone } from "./audio.ts"
import type { Place } from "./gate-client.ts"
import type { State } from "./state.ts"

/** A span as people say it: `40 seconds`, `about 3 minutes`. */
export const span = (seconds: number): string => {
  if (seconds < 1) return "a moment"
  if (seconds < 60) return plural(Math.ceil(seconds), "second")
  if (seconds < 3_600) return `about ${plural(Math.round(seconds / 60), "minute")}`
  return `about ${plural(Math.round(seconds / 3_600), "hour")}`
}

/** A running clock: `0:07`, `1:02:03`. */
export const clock = (millis: number): string => {
  const seconds = Math.max(0, Math.floor(millis / 1_000))
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60]
  const hours = Math.floor(seconds / 3_600)
  if (hours > 0) parts.unshift(hours)
  return parts.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, "0"))).join(":")
}

/** Like `clock`, but counts down to 0 and not past it, so that 0:00 means now. */
export const countdown = (millis: number): string => clock(Math.ceil(Math.max(0, millis) / 1_000) * 1_000)

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

export const ahead = ({ position }: Place): string => {
  if (position <= 1) return "You are next."
  return position === 2 ? "One person is ahead of you." : `${position - 1} people are ahead of you.`
}

export const estimate = ({ estimatedWait }: Place): string =>
  estimatedWait === undefined ? "No estimate yet: no call has ended so far." : `Estimated wait: ${span(estimatedWait)}.`

export const noMicrophone = (why: NoMicrophone["why"]): readonly [title: string, text: string] => {
  switch (why) {
    case "denied":
      return ["The microphone is blocked", "Allow it for this page in your browser’s address bar, or use a test tone."]
    case "missing":
      return ["No microphone found", "Plug one in and try again, or use a test tone: you will hear it come back."]
    case "busy":
      return ["The microphone is in use", "Another program holds it. Close that and try again, or use a test tone."]
    case "insecure":
      return ["No sound at this address", "Browsers give pages sound only over https, or at localhost on this machine."]
  }
}

export const ended = ({ reason, message }: { reason: string; message: string }): readonly [string, string] => {
  switch (reason) {
    case "hung-up":
      return ["Call ended", "You hung up. Your slot is free for the next in the queue."]
    case "remote":
    case "ended":
      return ["Call ended", "The agent closed the call."]
    case "unreached":
      return ["The call did not connect", "The agent’s address could not be reached. The slot comes free by itself."]
    case "silent":
      return ["The call had no sound", "Your browser could not start its audio. Your slot was given back."]
    case "missed":
      return ["You missed your turn", message || "The call was not started in time, so the slot went to the next."]
    case "abandoned":
      return ["Your place expired", message || "The gate did not hear from this page for too long."]
    case "unknown":
      return ["Your place is gone", message || "The gate no longer knows this place in the queue."]
    case "elsewhere":
      return ["Your place is open elsewhere", "Another window took this place in the queue over."]
    case "left":
      return ["You left the queue", message]
    default:
      return ["The call is over", message]
  }
}

export const refused = (code: string): string => {
  switch (code) {
    case "blocked":
      return "This connection may not call"
    case "rate_limited":
      return "Too many calls for now"
    case "queue_full":
      return "The queue is full"
    case "invalid_request":
    case "unknown_campaign":
    case "region_not_allowed":
      return "The gate did not accept the request"
    default:
      return "The agent is not available"
  }
}

/** The tab's title; it says whose turn it is to somebody who looks at another tab. */
export const title = (state: State): string => {
  const site = "voicegate demo"
  switch (state.name) {
    case "called":
      return `Your turn – ${site}`
    case "waiting":
      return `Place ${state.place.position} – ${site}`
    case "in-call":
      return `In call – ${site}`
    case "ended":
      return `${ended(state)[0]} – ${site}`
    case "refused":
      return `${refused(state.code)} – ${site}`
    default:
      return site
  }
}

/** What a screen reader is told; the same text twice is told once, so nothing that ticks is in it. */
export const announcement = (state: State): string => {
  switch (state.name) {
    case "idle":
      return ""
    case "asking":
      return "Your browser asks whether this page may use the microphone."
    case "no-microphone":
      return noMicrophone(state.why).join(". ")
    case "connecting":
      return "Connecting."
    case "waiting": {
      const link = state.link ? "" : " The connection was lost and is being made again."
      return `Place ${state.place.position} in the queue. ${ahead(state.place)}${link} ${state.notice ?? ""}`.trim()
    }
    case "called":
      return state.starting ? "Starting the call." : `It is your turn. Start the call now. ${state.notice ?? ""}`.trim()
    case "in-call":
      return state.muted ? "Muted." : "You are in the call."
    case "ended":
      return ended(state).join(". ")
    case "refused":
      return `${refused(state.code)}. ${state.message}`
    case "offline":
      return "The gate does not answer. Trying again by itself."
  }
}
