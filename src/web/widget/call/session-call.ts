/** The call of a visit, from its session to its end: by the platform's WebSocket, or by the SDK of its vendor. */

import type { Equipment } from "../audio/equipment.ts"
import { gateUrl, type VoiceAgentOptions } from "../client/options.ts"
import type { VoiceAgentState } from "../client/state.ts"
import { reaches } from "../gate/answers.ts"
import type { Gate, Session } from "../gate/gate-client.ts"
import type { OpenVendorCall } from "../vendors.ts"
import type { Visitor } from "../visit/visitor.ts"
import { type Call, type CallListener, openCall } from "./call.ts"
import type { Down } from "./liveness.ts"
import type { CallWatch } from "./watch.ts"

export type InCall = Extract<VoiceAgentState, { readonly name: "in-call" }>

export interface CallOwner {
  readonly options: VoiceAgentOptions
  readonly visitor: Visitor
  readonly equipment: Equipment
  readonly isOver: () => boolean
  readonly show: (state: VoiceAgentState) => void
  readonly gate: Gate
  /** Aborts when the visit is over. */
  readonly signal: AbortSignal
  /** Shows a change of the call, while there is one. */
  readonly changeCall: (change: Partial<InCall>) => void
  /** The session is used up. */
  readonly opened: () => void
  readonly end: (reason: string, message: string, lasted?: number) => void
  /** The page lacks what the call needs. */
  readonly shutOut: () => void
  /** Releases a session that is not used. */
  readonly discard: (ticket: string | undefined) => void
  /** Whether another device may have this ticket too. */
  readonly isContested: (ticket: string | undefined) => boolean
}

/** A small file of the gate, which answers if the network does. */
const probeOf = ({ options }: CallOwner): URL => gateUrl(options, "widget/audio.js")

/** What opens the call of a session; undefined if the page cannot call, and the visit is over. */
const prepare = async ({ access }: Session, owner: CallOwner): Promise<OpenVendorCall | undefined> => {
  if (typeof access === "string") return ({ sound }, listener) => openCall(access, probeOf(owner).href, sound, listener)
  try {
    const open = await (await owner.visitor.vendors?.())?.prepareCall(access, owner.options)
    if (open === undefined) owner.shutOut()
    return open
  } catch {
    owner.end("unreached", "")
    return undefined
  }
}

/** Opens the call; undefined if it cannot be opened, or the visit is over: then the session is released. */
export const connectCall = async (owner: CallOwner, session: Session): Promise<Call | undefined> => {
  const { ticket } = session
  // The devices are open already, except after a reload during the start.
  const ready = await owner.equipment.open().catch(() => owner.end("no-sound", ""))
  const open = owner.isOver() ? undefined : await prepare(session, owner)
  if (owner.isOver() || !ready || open === undefined) {
    owner.discard(ticket)
    return undefined
  }
  let since: number | undefined
  let call: Call | undefined
  let limits: CallWatch | undefined
  /** Watches a call that may not be silent, or last, for long. */
  const watch = async (): Promise<void> => {
    if ((session.silenceSeconds ?? session.endsAt) === undefined || ticket === undefined) return
    // without the script, the call is as one of a page that reports nothing
    const loaded = await import("./watch.ts").catch(() => undefined)
    if (loaded === undefined || owner.isOver()) return
    const listener = {
      warn: (warning: InCall["warning"]) => owner.changeCall({ warning }),
      over: (reason: string) => {
        owner.end(reason, "", since && Date.now() - since)
        call?.hangUp()
      },
    }
    limits = loaded.watchCall(owner.gate, ticket, session, listener, owner.signal)
  }
  /** A session can be opened once: what could not be opened may be open on the other device, which was faster. */
  const isOthers = (): boolean => since === undefined && owner.isContested(ticket)
  let isOpen = true
  /** A vendor's SDK does not say what is down: then the gate is asked, before the caller is told. */
  const showLink = async (link: boolean, down?: Down): Promise<void> => {
    isOpen = link
    owner.changeCall({ link, down })
    if (link || down !== undefined) return
    const found = (await reaches(probeOf(owner))) ? "agent" : "network"
    if (!isOpen) owner.changeCall({ down: found })
  }
  const listener: CallListener = {
    said: (loudness) => {
      owner.visitor.said(loudness)
      limits?.level(loudness)
    },
    heard: (loudness) => {
      owner.visitor.heard(loudness)
      limits?.level(loudness)
    },
    turn: (turn) => {
      owner.visitor.turn(turn)
      limits?.spoke()
    },
    opened: () => {
      since = Date.now()
      owner.opened()
      const { pushToTalk, textInput, writing } = owner.options
      const muted = pushToTalk === true && !writing
      call?.setMuted?.(muted)
      const takesText = textInput === true || writing === true
      const works = { link: true, audio: true, microphone: true }
      owner.show({ name: "in-call", since, muted, ...works, takesText, ...(writing ? { writing } : {}) })
      owner.equipment.begin(muted)
      void watch()
    },
    held: () => {
      since = undefined
      owner.show({ name: "connecting", to: "held" })
    },
    takesText: () => owner.changeCall({ takesText: owner.options.textInput !== false }),
    link: showLink,
    audio: (audio) => owner.changeCall({ audio }),
    deaf: () => owner.equipment.lose(),
    failed: () => {
      owner.end("no-sound", "", since && Date.now() - since)
      call?.hangUp()
    },
    ended: (how) => {
      const reason = how === "unreached" && isOthers() ? "elsewhere" : (limits?.why(how) ?? how)
      owner.end(reason, "", since && Date.now() - since)
    },
    closed: (clean) => {
      if (!clean && !isOthers()) owner.discard(ticket)
    },
  }
  const opened = open(ready, listener)
  call = {
    ...opened,
    send: (said) => {
      opened.send(said)
      limits?.spoke()
    },
  }
  return call
}
