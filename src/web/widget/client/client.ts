/**
 * The headless client: `createVoiceAgent` requests a call, waits in the queue and connects it. It handles one visit at a time and reports
 * by typed events. What a visit needs is loaded when it begins.
 */

import { pauseAfter, pauseFor } from "../gate/retry.ts"
import type { Turn } from "../screens/transcript.ts"
import { forget, recall, recallCall, rememberCall } from "../visit/ticket-store.ts"
import type { Visit } from "../visit/visit.ts"
import { Forbidden, loadVendors, loadVisit, type VisitPart } from "./load.ts"
import { storageKeyOf, type VoiceAgentOptions } from "./options.ts"
import { tellOwner } from "./owner.ts"
import type { Offer, VoiceAgentState } from "./state.ts"

export interface VoiceAgentEvents {
  /** The state, or a part of it, has changed. */
  readonly state: VoiceAgentState
  /** A text message of the agent, during a call. */
  readonly message: string
  /** What either side says in text: messages of the platform, and what the caller writes. */
  readonly turn: Turn
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
  /** Loads what a visit needs, so that `begin` does not wait for it; call it when the visitor comes near the button. */
  readonly prepare: () => void
  /** Opens the microphone, then requests a call; call it from a user gesture. Leaves any visit in progress. */
  readonly begin: () => void
  /** As `begin`, for a caller who writes: no microphone is opened. Only where the agent takes text, with a sound of the widget's own. */
  readonly write: () => void
  /** Takes the call when it is the caller's turn. */
  readonly start: () => void
  /** Leaves the queue, hangs up, or cancels. */
  readonly leave: () => void
  readonly setMuted: (muted: boolean) => void
  /** Takes another microphone, of this device's id; this browser remembers it. */
  readonly useMicrophone: (deviceId: string) => void
  /** Sends a text to the agent, during a call whose state says `takesText`; false if it cannot be sent now. */
  readonly send: (text: string) => boolean
  /**
   * Takes what was offered (`offers` of the states `waiting` and `refused`); call it from a user gesture. For another campaign it asks for a
   * call there: from the queue, it leaves this one only when it has a place or a call there. The page itself opens a link or calls a number;
   * then the place is kept until the visitor leaves.
   */
  readonly take: (offer: Offer) => void
  /** Retries at once while the gate does not answer; in a call, opens a lost microphone again. */
  readonly retry: () => void
  /** Resumes the place that this tab had before a reload, or shows that the reload ended a call; false if there was neither. */
  readonly resume: () => Promise<boolean>
}

type Listeners = { readonly [Type in keyof VoiceAgentEvents]: Set<(event: VoiceAgentEvents[Type]) => void> }

/** The options are read again for each visit. */
export const createVoiceAgent = (options: VoiceAgentOptions = {}): VoiceAgent => createClient(options, loadVisit)

/** The same; `load` also loads what the caller needs to show a visit. */
export const createClient = (
  options: VoiceAgentOptions,
  load: (options: VoiceAgentOptions) => Promise<VisitPart>,
): VoiceAgent => {
  const listeners: Listeners = { state: new Set(), message: new Set(), turn: new Set(), level: new Set() }
  let state: VoiceAgentState = { name: "idle", notice: undefined }
  let visit: Visit | undefined
  /** of the visit that is being loaded; aborted when another one begins, or the visitor cancels */
  let loading: AbortController | undefined
  let retryNow = (): void => {}

  const emit = <Type extends keyof VoiceAgentEvents>(type: Type, event: VoiceAgentEvents[Type]): void => {
    for (const listener of listeners[type]) listener(event)
  }
  const show = (next: VoiceAgentState): void => {
    state = next
    emit("state", state)
  }

  const createVisit = ({ openVisit }: VisitPart, writing: boolean): Visit => {
    let [said, heard] = [0, 0]
    // Events of a visit that was replaced are dropped.
    const current = (emitEvent: () => void): void => {
      if (visit === mine) emitEvent()
    }
    const level = (): void => current(() => emit("level", { said, heard }))
    const mine: Visit = openVisit(
      { ...options, writing },
      {
        vendors: () => loadVendors(options),
        show: (next) => current(() => show(next)),
        turn: (turn) =>
          current(() => {
            emit("turn", turn)
            if (turn.role === "agent") emit("message", turn.text)
          }),
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

  /** Leaves any visit and loads another one; undefined if the visitor cancels, or the page's policy blocks it. */
  const newVisit = async (shown: VoiceAgentState, writing = false): Promise<Visit | undefined> => {
    loading?.abort()
    loading = new AbortController()
    const { signal } = loading
    visit?.leave()
    visit = undefined
    if (state !== shown) show(shown)
    for (let failures = 0; ; failures++) {
      const loaded = await load(options).catch((error: unknown) => (error instanceof Forbidden ? error : undefined))
      if (signal.aborted) return undefined
      if (loaded instanceof Forbidden) {
        tellOwner(
          `the Content-Security-Policy of this page blocks the gate's scripts: add ${loaded.message} to script-src`,
        )
        show({ name: "no-microphone", problem: "no-sound" })
        return undefined
      }
      if (loaded !== undefined) {
        if (state.name === "offline") show(shown)
        return createVisit(loaded, writing)
      }
      const millis = pauseAfter(failures)
      show({ name: "offline", retryAt: Date.now() + millis })
      await pauseFor(window, millis, signal, (end) => {
        retryNow = end
      })
      if (signal.aborted) return undefined
    }
  }

  const leave = (): void => {
    loading?.abort()
    if (visit?.hangUp() === true || state.name === "idle") return
    const queued = state.name === "waiting" || state.name === "your-turn"
    visit?.leave()
    visit = undefined
    show({ name: "idle", notice: queued ? { code: "left", message: "" } : undefined })
  }

  // The state is shown at once, so that a page can do in the user's gesture what needs one.
  // Where the visitor is asked to agree first, only the visit knows what comes next.
  const begin = (campaign?: string): void =>
    void newVisit(options.consent ? state : { name: "checking-microphone" }).then((opened) => opened?.begin(campaign))

  return {
    get state() {
      return state
    },
    on: (type, listener) => {
      listeners[type].add(listener)
      return () => listeners[type].delete(listener)
    },
    prepare: () => void load(options).catch(() => {}),
    begin: () => begin(),
    take: (offer) => {
      if (state.name === "waiting") visit?.take(offer)
      else if (offer.kind === "campaign") begin(offer.target)
    },
    write: () => void newVisit(state, true).then((opened) => opened?.begin()),
    start: () => void visit?.start(),
    leave,
    setMuted: (muted) => visit?.setMuted(muted),
    useMicrophone: (deviceId) => visit?.useMicrophone(deviceId),
    send: (text) => visit?.send(text) ?? false,
    retry: () => {
      retryNow()
      visit?.retry()
    },
    resume: async () => {
      const key = storageKeyOf(options)
      const [call, ticket] = [recallCall(key), recall(key)]
      if ((call === undefined && ticket === undefined) || visit !== undefined) return false
      const opened = await newVisit(state)
      if (opened === undefined) return false
      if (call !== undefined) {
        rememberCall(key, undefined)
        opened.interrupted(call)
        return true
      }
      if (ticket === undefined) return false
      if (await opened.resume(ticket)) return true
      forget(key, ticket)
      if (visit === opened) visit = undefined
      return false
    },
  }
}
