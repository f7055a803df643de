/**
 * One call: its line with the audio in both directions. However the call ends, the audio is closed and `ended` is called once; after it
 * `closed`, once.
 */
import type { Sound, SoundListener, Source } from "../audio/audio.ts"
import { tellOwner } from "../client/owner.ts"
import { list, parse, text } from "../gate/json.ts"
import type { Turn } from "../screens/transcript.ts"
import type { LineEnd, LineEvent } from "./line.ts"
import type { Down } from "./liveness.ts"

export type CallEnd = LineEnd

export interface CallListener extends SoundListener {
  readonly opened: () => void
  /** The vendor holds the caller in a queue of its own; `opened` follows when it lets the caller in. */
  readonly held: () => void
  readonly turn: (turn: Turn) => void
  /** The platform says that the agent takes text. */
  readonly takesText: () => void
  /** Whether captured audio currently gets through, and what is down if not; undefined if it was not looked for. */
  readonly link: (open: boolean, down?: Down) => void
  readonly ended: (how: CallEnd) => void
  /** Whether the platform knows that the call is over. */
  readonly closed: (clean: boolean) => void
}

export interface Call {
  /** Sends a text of the caller. */
  readonly send: (text: string) => void
  readonly hangUp: () => void
  /** Mutes what the microphone itself does not; absent where muting that is enough. */
  readonly setMuted?: (muted: boolean) => void
  /** Takes another microphone; false if it cannot. Absent where the sound of the call is all that needs it. */
  readonly use?: (source: Source) => boolean
}

/** Names that platforms give the caller's side. */
const CALLER = /^(caller|user|human|customer|visitor)$/i

/** A text message: plain text of the agent, or JSON with a `text` and a `role`. */
const turnOf = (message: string): Turn => {
  const { role, text: said } = parse(message)
  return { role: CALLER.test(text(role) ?? "") ? "caller" : "agent", text: text(said) ?? message }
}

/**
 * Opens the call. The sound has its source, which the caller unmutes.
 *
 * @param probe a small file of the gate, which answers if the network does
 */
export const openCall = (webSocketUrl: string, probe: string, sound: Sound, listener: CallListener): Call => {
  const url = webSocketUrl.replace(/^http/, "ws")
  const { bytesPerSecond, capture, playback } = sound
  const report = (event: LineEvent): void => {
    switch (event.type) {
      case "opened":
        listener.opened()
        sound.begin(listener)
        return
      case "text":
        if (list(parse(event.text).capabilities).includes("text")) listener.takesText()
        listener.turn(turnOf(event.text))
        return
      case "link":
        listener.link(event.down === undefined, event.down)
        return
      case "blocked":
        // For the site's owner: the visitor cannot change it, and reads that the call did not connect.
        tellOwner(`the Content-Security-Policy of this page blocks the call: add ${new URL(url).origin} to connect-src`)
        return
      case "ended":
        sound.close()
        listener.ended(event.how)
        return
      case "closed":
        listener.closed(event.clean)
    }
  }
  const line = sound.carrier.open({ url, bytesPerSecond, probe, capture, playback }, report)
  return { hangUp: line.hangUp, send: (said) => line.send(JSON.stringify({ type: "text", text: said })) }
}
