/** ElevenLabs Agents, by `@elevenlabs/client` 1, which opens the microphone and plays the agent itself. */
import { vendor } from "./vendor.ts"

interface Session {
  readonly endSession: () => Promise<unknown>
  readonly setMicMuted: (muted: boolean) => void
  readonly sendUserMessage: (text: string) => void
  readonly getOutputVolume: () => number
}

interface Options {
  readonly signedUrl: string | undefined
  readonly dynamicVariables: Readonly<Record<string, string>>
  readonly inputDeviceId?: string
  readonly onMessage: (message: { readonly message: string; readonly source: string }) => void
  readonly onDisconnect: (details: { readonly reason: string }) => void
}

/** How often the agent's loudness is asked, in milliseconds. */
const MEASURE_EVERY = 50

export default vendor<{ readonly Conversation: { readonly startSession: (options: Options) => Promise<Session> } }>(
  "@elevenlabs/client",
  "Conversation",
  async ({ Conversation }, { url }, caller) => {
    let measuring: number | undefined
    const session = await Conversation.startSession({
      signedUrl: url,
      dynamicVariables: caller.dynamicVariables,
      ...(caller.deviceId === undefined ? {} : { inputDeviceId: caller.deviceId }),
      onMessage: ({ message, source }) => caller.turn({ role: source === "user" ? "caller" : "agent", text: message }),
      onDisconnect: ({ reason }) => {
        window.clearInterval(measuring)
        caller.ended(reason === "error" ? "lost" : "remote")
      },
    })
    measuring = window.setInterval(() => caller.heard(session.getOutputVolume()), MEASURE_EVERY)
    return {
      hangUp: () => {
        window.clearInterval(measuring)
        return session.endSession()
      },
      setMuted: (muted) => session.setMicMuted(muted),
      send: (said) => session.sendUserMessage(said),
    }
  },
)
