/**
 * Alerts a caller when it is their turn: it rings, and the tab's title says so; a caller who is on another tab gets a notification if the
 * page enables that and the caller has allowed it. While they wait on another tab, the title says where they stand.
 */

import type { VoiceAgentState } from "../client/state.ts"
import type { Say } from "../words/strings.ts"
import type { Ring } from "./ring.ts"

export interface Attention {
  readonly show: (state: VoiceAgentState) => void
  readonly notifying: () => "ask" | "yes" | "no"
  /** Asks whether notifications are allowed; call it from a tap. */
  readonly ask: () => Promise<void>
  /** Takes back what it shows. */
  readonly close: () => void
}

export interface AttentionOptions {
  /** whether the page enables notifications */
  readonly notifies: () => boolean
  /** undefined while the page wants none */
  readonly ring: () => Ring | undefined
}

/** Whether a caller is notified, by what the browser allows. */
const ANSWERS = { granted: "yes", default: "ask", denied: "no" } as const

export const createAttention = (say: Say, { notifies, ring }: AttentionOptions): Attention => {
  let state: VoiceAgentState | undefined
  /** the page's own title, while there is text before it */
  let before: string | undefined
  let notification: Notification | undefined

  /** Puts text before the page's title; undefined takes it away. If the page has changed its title meanwhile, that one stays. */
  const entitle = (text: string | undefined): void => {
    if (before !== undefined && document.title.endsWith(` – ${before}`)) document.title = before
    before = text === undefined ? undefined : document.title
    if (text !== undefined) document.title = `${text} – ${before}`
  }

  const name = (): void => {
    if (state?.name === "your-turn") entitle(`● ${say("your-turn.title")}`)
    else if (state?.name === "waiting" && document.hidden) entitle(say("floating.waiting", { n: state.place.position }))
    else entitle(undefined)
  }

  const notify = (): void => {
    if (notification !== undefined || !document.hidden || attention.notifying() !== "yes") return
    try {
      notification = new Notification(say("your-turn.title"), { body: say("your-turn.notification"), tag: "voicegate" })
      notification.onclick = () => {
        window.focus()
        notification?.close()
      }
    } catch {
      // Some phones allow notifications only from service workers; the title still changes.
    }
  }

  const release = (): void => {
    notification?.close()
    notification = undefined
  }

  const attention: Attention = {
    show: (next) => {
      const called = next.name === "your-turn" && state?.name !== "your-turn"
      if (state === undefined) document.addEventListener("visibilitychange", name)
      state = next
      name()
      if (called) notify()
      else if (state.name !== "your-turn") release()
      if (state.name === "your-turn" && !state.starting) ring()?.start()
      else ring()?.stop()
    },
    notifying: () => (notifies() && "Notification" in window ? ANSWERS[Notification.permission] : "no"),
    ask: async () => {
      await Notification.requestPermission()
    },
    close: () => {
      release()
      entitle(undefined)
      document.removeEventListener("visibilitychange", name)
      state = undefined
      ring()?.stop()
    },
  }
  return attention
}
