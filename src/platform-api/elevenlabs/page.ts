/** ElevenLabs Agents, by `@elevenlabs/client` 1, which opens the microphone and plays the agent itself. */
import { fieldsOf, text } from "../../web/widget/gate/json.ts"
import { vendor } from "../../web/widget/vendors/vendor.ts"

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
  /** gets each event that the SDK does not know, as it was sent */
  readonly onDebug: (event: unknown) => void
}

/** The least worklet. */
const WORKLET = "registerProcessor('voicegate', class extends AudioWorkletProcessor { process() { return false } })"

/** Whether the page may run a worklet from this address. */
const runs = (address: string): Promise<boolean> =>
  new OfflineAudioContext(1, 1, 8_000).audioWorklet.addModule(address).then(
    () => true,
    () => false,
  )

/** The SDK makes its worklets itself, at `blob:` addresses or, where these are blocked, at `data:` addresses. */
const lacks = async (): Promise<string | undefined> => {
  const address = URL.createObjectURL(new Blob([WORKLET], { type: "application/javascript" }))
  const isAllowed = (await runs(address)) || (await runs(`data:application/javascript;base64,${btoa(WORKLET)}`))
  URL.revokeObjectURL(address)
  return isAllowed
    ? undefined
    : "the Content-Security-Policy of this page blocks the worklets of @elevenlabs/client: add blob: to script-src"
}

/** How often the agent's loudness is asked, in milliseconds. */
const MEASURE_EVERY = 50

export default vendor<{ readonly Conversation: { readonly startSession: (options: Options) => Promise<Session> } }>(
  "@elevenlabs/client",
  "Conversation",
  async ({ Conversation }, { url }, caller) => {
    let measuring: number | undefined
    let waits = false
    const session = await Conversation.startSession({
      signedUrl: url,
      dynamicVariables: caller.dynamicVariables,
      ...(caller.deviceId === undefined ? {} : { inputDeviceId: caller.deviceId }),
      onMessage: ({ message, source }) => caller.turn({ role: source === "user" ? "caller" : "agent", text: message }),
      onDisconnect: ({ reason }) => {
        window.clearInterval(measuring)
        caller.ended(reason === "error" ? "lost" : "remote")
      },
      onDebug: (event) => {
        const { queue_status_event, type } = fieldsOf(event)
        if (type !== "queue_status") return
        const status = text(fieldsOf(queue_status_event).status)
        if (status === "waiting" || (status === "admitted" && waits)) {
          waits = status === "waiting"
          caller.held(waits)
        }
        if (status === "timed_out") caller.ended("remote")
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
  lacks,
)
