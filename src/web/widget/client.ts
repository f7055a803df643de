/**
 * The headless client: `createVoiceAgent` requests a call, waits in the queue and connects it. It handles one visit at a time and reports
 * by typed events.
 */
import type { VoiceAgentOptions } from "./options.ts"
import type { VoiceAgentState } from "./state.ts"
import { forget, recall } from "./ticket-store.ts"
import { storageKeyOf, Visit } from "./visit.ts"

export interface VoiceAgentEvents {
  /** The state, or a part of it, has changed. */
  readonly state: VoiceAgentState
  /** A text message of the agent, during a call. */
  readonly message: string
  /** Loudness of the captured and of the played audio, 0 to 1, about fifty times a second during a call. */
  readonly level: { readonly said: number; readonly heard: number }
}

export interface VoiceAgent {
  readonly state: VoiceAgentState
  /** Calls `listener` for every event of a type. Returns a function that removes it. */
  readonly on: <Type extends keyof VoiceAgentEvents>(
    type: Type,
    listener: (event: VoiceAgentEvents[Type]) => void,
  ) => () => void
  /** Opens the microphone, then requests a call; call it from a user gesture. Leaves any visit in progress. */
  readonly begin: () => void
  /** Takes the call when it is the caller's turn. */
  readonly start: () => void
  /** Leaves the queue, hangs up, or cancels. */
  readonly leave: () => void
  readonly setMuted: (muted: boolean) => void
  /** Retries at once while the gate does not answer. */
  readonly retry: () => void
  /** Resumes the place that this tab had before a reload; false if there is none. */
  readonly resume: () => Promise<boolean>
}

type Listeners = { readonly [Type in keyof VoiceAgentEvents]: Set<(event: VoiceAgentEvents[Type]) => void> }

/** The options are read again for each visit. */
export const createVoiceAgent = (options: VoiceAgentOptions = {}): VoiceAgent => {
  const listeners: Listeners = { state: new Set(), message: new Set(), level: new Set() }
  let state: VoiceAgentState = { name: "idle", notice: undefined }
  let visit: Visit | undefined

  const emit = <Type extends keyof VoiceAgentEvents>(type: Type, event: VoiceAgentEvents[Type]): void => {
    for (const listener of listeners[type]) listener(event)
  }
  const show = (next: VoiceAgentState): void => {
    state = next
    emit("state", state)
  }

  const newVisit = (): Visit => {
    visit?.leave()
    let [said, heard] = [0, 0]
    // Events of a visit that was replaced are dropped.
    const current = (emitEvent: () => void): void => {
      if (visit === mine) emitEvent()
    }
    const level = (): void => current(() => emit("level", { said, heard }))
    const mine: Visit = new Visit(
      { ...options },
      {
        show: (next) => current(() => show(next)),
        message: (text) => current(() => emit("message", text)),
        said: (loudness) => {
          said = loudness
          level()
        },
        heard: (loudness) => {
          heard = loudness
          level()
        },
      },
    )
    visit = mine
    return mine
  }

  const leave = (): void => {
    if (visit?.hangUp() === true || state.name === "idle") return
    const queued = state.name === "waiting" || state.name === "your-turn"
    visit?.leave()
    visit = undefined
    show({ name: "idle", notice: queued ? { code: "left", message: "" } : undefined })
  }

  return {
    get state() {
      return state
    },
    on: (type, listener) => {
      listeners[type].add(listener)
      return () => listeners[type].delete(listener)
    },
    begin: () => void newVisit().begin(),
    start: () => void visit?.start(),
    leave,
    setMuted: (muted) => visit?.setMuted(muted),
    retry: () => visit?.retry(),
    resume: async () => {
      const key = storageKeyOf(options)
      const ticket = recall(key)
      if (ticket === undefined || visit !== undefined) return false
      if (await newVisit().resume(ticket)) return true
      forget(key, ticket)
      visit = undefined
      return false
    },
  }
}
