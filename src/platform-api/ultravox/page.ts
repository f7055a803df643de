/** Ultravox, by `ultravox-client`, which opens the microphone and plays the agent itself. It tells who speaks, and not how loud. */
import { vendor } from "../../web/widget/vendors/vendor.ts"

interface Transcript {
  readonly text: string
  readonly isFinal: boolean
  readonly speaker: string
}

interface Session extends EventTarget {
  readonly status: string
  readonly transcripts: ReadonlyArray<Transcript>
  readonly joinCall: (url: string) => void
  readonly leaveCall: () => Promise<unknown>
  readonly muteMic: () => void
  readonly unmuteMic: () => void
  readonly sendText: (text: string) => void
}

/** The states of a session with its agent. */
const CONNECTED = /^(idle|listening|thinking|speaking)$/
/** The loudness that is shown while the agent speaks. */
const SPEAKING = 0.2
/** How often it is told, in milliseconds. */
const MEASURE_EVERY = 100

export default vendor<{ readonly UltravoxSession: new () => Session }>(
  "ultravox-client",
  "UltravoxSession",
  ({ UltravoxSession }, { url = "" }, caller) =>
    new Promise((resolve, reject) => {
      const session = new UltravoxSession()
      const told = new Set<number>()
      session.addEventListener("transcripts", () => {
        for (const [n, { isFinal, speaker, text }] of session.transcripts.entries()) {
          if (!isFinal || told.has(n)) continue
          told.add(n)
          if (text !== "") caller.turn({ role: speaker === "agent" ? "agent" : "caller", text })
        }
      })
      const measuring = window.setInterval(
        () => caller.heard(session.status === "speaking" ? SPEAKING : 0),
        MEASURE_EVERY,
      )
      session.addEventListener("status", () => {
        if (session.status === "disconnected") {
          window.clearInterval(measuring)
          reject(new Error("the call ended before it began"))
          caller.ended("remote")
        } else if (CONNECTED.test(session.status)) {
          resolve({
            hangUp: () => session.leaveCall(),
            setMuted: (muted) => (muted ? session.muteMic() : session.unmuteMic()),
            send: (said) => session.sendText(said),
          })
        }
      })
      session.joinCall(url)
    }),
)
