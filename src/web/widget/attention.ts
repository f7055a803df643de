/**
 * Alerts a caller who is on another tab when it is their turn: in the tab's title, and by a notification if the page enables it
 * and the caller has allowed it.
 */
import type { VoiceAgentState } from "./state.ts"
import type { Say } from "./strings.ts"

export interface Attention {
  readonly show: (state: VoiceAgentState) => void
  readonly notifying: () => "ask" | "yes" | "no"
  /** Asks whether notifications are allowed; call it from a tap. */
  readonly ask: () => Promise<void>
}

export const createAttention = (say: Say, wanted: () => boolean): Attention => {
  let before: string | undefined
  let notification: Notification | undefined

  const call = (): void => {
    if (before !== undefined) return
    before = document.title
    document.title = `● ${say("your-turn.title")} – ${before}`
    if (!document.hidden || attention.notifying() !== "yes") return
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
    // If the page has changed its title meanwhile, that title stays.
    if (before !== undefined && document.title.endsWith(` – ${before}`)) document.title = before
    before = undefined
    notification?.close()
    notification = undefined
  }

  const attention: Attention = {
    show: ({ name }) => (name === "your-turn" ? call() : release()),
    notifying: () => {
      if (!wanted() || !("Notification" in window)) return "no"
      return Notification.permission === "granted" ? "yes" : Notification.permission === "default" ? "ask" : "no"
    },
    ask: async () => {
      await Notification.requestPermission()
    },
  }
  return attention
}
