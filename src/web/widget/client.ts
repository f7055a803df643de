/**
 * A voice agent without a face: `createVoiceAgent` asks the gate for calls, waits in its queue and talks. One visit at a
 * time; what happens is told by typed events.
 */
import type { VoiceAgentOptions } from "./options.ts"
import type { VoiceAgentState } from "./state.ts"
import { forget, recall } from "./ticket-store.ts"
import { memoryOf, Visit } from "./visit.ts"

export interface VoiceAgentEvents {
  /** Something changed: a new state, or something in it. */
  readonly state: VoiceAgentState
  /** A text of the agent, during a call. */
  readonly message: string
  /** Loudness of what is said and what is heard, 0 to 1, about fifty times a second during a call. */
  readonly level: { readonly said: number; readonly heard: number }
}

export interface VoiceAgent {
  readonly state: VoiceAgentState
  /** Calls `listener` for every event of a kind, until what it returns is called. */
  readonly on: <Type extends keyof VoiceAgentEvents>(
    type: Type,
    listener: (event: VoiceAgentEvents[Type]) => void,
  ) => () => void
  /** Asks for the microphone, then for a call; call it from a tap. What went on before is left. */
  readonly begin: () => void
  /** Takes the call when it is the caller's turn. */
  readonly start: () => void
  /** Leaves the queue, hangs up, or gives up whatever else goes on. */
  readonly leave: () => void
  readonly setMuted: (muted: boolean) => void
  /** Tries at once again, while the gate does not answer. */
  readonly retry: () => void
  /** Takes up the place that this tab had before it was reloaded; false when there is none. */
  readonly resume: () => Promise<boolean>
}

type Listeners = { readonly [Type in keyof VoiceAgentEvents]: Set<(event: VoiceAgentEvents[Type]) => void> }

/** The options are read anew whenever a visit begins. */
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
    // A visit that was replaced has nothing to tell any more.
    const current = (tell: () => void): void => {
      if (visit === mine) tell()
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
      const memory = memoryOf(options)
      const ticket = recall(memory)
      if (ticket === undefined || visit !== undefined) return false
      if (await newVisit().resume(ticket)) return true
      forget(memory, ticket)
      visit = undefined
      return false
    },
  }
}
