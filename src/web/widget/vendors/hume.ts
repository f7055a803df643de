/** Hume's Empathic Voice Interface, by `hume`. It tells who speaks, and not how loud. */
import { fieldsOf, text } from "../json.ts"
import { vendor } from "./vendor.ts"

interface Chat {
  readonly on: {
    (event: "open", listener: () => void): unknown
    (event: "message", listener: (message: unknown) => void): unknown
    (event: "close", listener: (told: { readonly code: number; readonly reason: string }) => void): unknown
  }
  readonly sendAudioInput: (sound: { readonly data: string }) => void
  readonly sendUserInput: (text: string) => void
  readonly close: () => void
}

interface ConnectOptions {
  readonly accessToken: string
  readonly configId: string | undefined
  readonly sessionSettings: {
    readonly customSessionId: string | undefined
    readonly variables: Readonly<Record<string, string>>
  }
  /** a chat that broke is over: its slot is free */
  readonly reconnectAttempts: 0
}

interface Player {
  readonly playing: boolean
  readonly init: () => Promise<unknown>
  readonly enqueue: (message: unknown) => Promise<unknown>
  readonly stop: () => void
  readonly dispose: () => void
}

interface Sdk {
  readonly HumeClient: new (
    options: object,
  ) => { readonly empathicVoice: { readonly chat: { readonly connect: (options: ConnectOptions) => Chat } } }
  /** its worklet would be loaded from a host of Hume's */
  readonly EVIWebAudioPlayer: new (options: {
    readonly disableAudioWorklet: true
  }) => Player
  readonly convertBlobToBase64: (sound: Blob) => Promise<string>
}

/** The loudness that is shown while the agent speaks. */
const SPEAKING = 0.2
/** How often the loudness is told, and how long a recorded piece of the caller's sound is, in milliseconds. */
const EVERY = 100

export default vendor<Sdk>(
  "hume",
  "HumeClient",
  async ({ convertBlobToBase64, EVIWebAudioPlayer, HumeClient }, { details, token = "" }, caller) => {
    const recorder = new MediaRecorder(caller.microphone)
    const player = new EVIWebAudioPlayer({ disableAudioWorklet: true })
    await player.init()
    if (caller.signal.aborted) player.dispose()
    caller.signal.throwIfAborted()
    const measuring = window.setInterval(() => caller.heard(player.playing ? SPEAKING : 0), EVERY)
    const chat = new HumeClient({}).empathicVoice.chat.connect({
      accessToken: token,
      configId: text(details?.configId),
      sessionSettings: { customSessionId: text(details?.customSessionId), variables: caller.dynamicVariables },
      reconnectAttempts: 0,
    })
    let isOpen = false
    // the pieces of a recording are sent in their order
    let sending: Promise<unknown> = Promise.resolve()
    recorder.ondataavailable = ({ data: piece }) => {
      sending = sending
        .then(() => convertBlobToBase64(piece))
        .then((data) => {
          if (isOpen) chat.sendAudioInput({ data })
        })
        .catch(() => {})
    }
    return new Promise((resolve, reject) => {
      chat.on("open", () => {
        isOpen = true
      })
      chat.on("message", (message) => {
        const { message: said, type } = fieldsOf(message)
        const words = text(fieldsOf(said).content)
        switch (type) {
          case "chat_metadata":
            resolve({ hangUp: () => chat.close(), send: (content) => chat.sendUserInput(content) })
            // a microphone that has ended cannot be recorded
            if (!caller.signal.aborted) recorder.start(EVERY)
            break
          case "audio_output":
            void player.enqueue(message)
            break
          case "user_interruption":
            player.stop()
            break
          case "user_message":
          case "assistant_message":
            if (words) caller.turn({ role: type === "user_message" ? "caller" : "agent", text: words })
        }
      })
      chat.on("close", ({ code, reason }) => {
        isOpen = false
        if (recorder.state !== "inactive") recorder.stop()
        window.clearInterval(measuring)
        player.dispose()
        reject(new Error(`Hume closed the connection: ${code} ${reason}`))
        caller.ended(code === 1006 ? "lost" : "remote")
      })
      caller.signal.addEventListener("abort", () => chat.close())
    })
  },
)
