/**
 * Pipecat Cloud, by `@pipecat-ai/client-js` 1 and `@pipecat-ai/daily-transport` 1, which open the microphone. The page gives both as one
 * module, such as `{ ...client, ...transport }`.
 */
import { vendor } from "../../web/widget/vendors/vendor.ts"

interface Participant {
  readonly local: boolean
}

interface Client {
  readonly connect: (room: { readonly url: string | undefined; readonly token: string | undefined }) => Promise<unknown>
  readonly disconnect: () => Promise<unknown>
  readonly updateMic: (id: string) => void
  readonly enableMic: (on: boolean) => void
  readonly sendText: (text: string) => unknown
}

interface Options {
  readonly transport: object
  readonly enableMic: true
  readonly enableCam: false
  readonly callbacks: {
    readonly onTrackStarted: (track: MediaStreamTrack, participant?: Participant) => void
    readonly onUserTranscript: (said: { readonly text: string; readonly final: boolean }) => void
    readonly onBotTranscript: (said: { readonly text: string }) => void
    readonly onBotDisconnected: () => void
    readonly onDisconnected: () => void
  }
}

interface Sdk {
  readonly PipecatClient: new (options: Options) => Client
  readonly DailyTransport: new () => object
}

export default vendor<Sdk>(
  "@pipecat-ai/client-js with @pipecat-ai/daily-transport",
  "DailyTransport",
  async ({ DailyTransport, PipecatClient }, { token, url }, caller) => {
    let gone: (() => void) | undefined
    const ended = (): void => {
      gone?.()
      caller.ended("remote")
    }
    const client = new PipecatClient({
      transport: new DailyTransport(),
      enableMic: true,
      enableCam: false,
      callbacks: {
        onTrackStarted: (track, participant) => {
          if (participant?.local === false && track.kind === "audio") caller.play(new MediaStream([track]))
        },
        onUserTranscript: ({ final, text }) => {
          if (final && text !== "") caller.turn({ role: "caller", text })
        },
        onBotTranscript: ({ text }) => {
          if (text !== "") caller.turn({ role: "agent", text })
        },
        onBotDisconnected: ended,
        onDisconnected: ended,
      },
    })
    // `connect` waits for the agent, and goes on waiting after one that has left
    const left = new Promise<never>((_, reject) => {
      gone = () => reject(new Error("the agent left before the call began"))
    })
    left.catch(() => {})
    caller.signal.addEventListener("abort", () => gone?.())
    try {
      await Promise.race([client.connect({ url, token }), left])
    } catch (error) {
      await client.disconnect()
      throw error
    }
    if (caller.deviceId !== undefined) client.updateMic(caller.deviceId)
    return {
      hangUp: () => client.disconnect(),
      setMuted: (muted) => client.enableMic(!muted),
      send: (said) => client.sendText(said),
    }
  },
)
