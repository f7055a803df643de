/** Deepgram's Voice Agent, by `@deepgram/sdk` 5, which leaves the sound to the page. */
import { fieldsOf, text } from "../../web/widget/gate/json.ts"
import { capture, createPlayer } from "../../web/widget/vendors/samples.ts"
import { vendor } from "../../web/widget/vendors/vendor.ts"

interface Connection {
  readonly on: {
    (event: "open", listener: () => void): unknown
    (event: "message", listener: (message: unknown) => void): unknown
    (event: "close", listener: (told: { readonly code: number; readonly reason: string }) => void): unknown
    (event: "error", listener: (error: Error) => void): unknown
  }
  readonly connect: () => unknown
  readonly close: () => void
  readonly sendSettings: (settings: object) => void
  readonly sendMedia: (frame: ArrayBuffer) => void
  readonly sendInjectUserMessage: (message: object) => void
}

interface Client {
  readonly agent: {
    readonly v1: { readonly createConnection: (options: { readonly reconnectAttempts: 0 }) => Promise<Connection> }
  }
}

type New = new (options: {
  readonly accessToken: string
  readonly environment: { readonly base: string; readonly production: string; readonly agent: string }
}) => Client

const RATE = 24_000
const SOUND = { encoding: "linear16", sample_rate: RATE }

export default vendor<{ readonly DeepgramClient: New }>(
  "@deepgram/sdk",
  "DeepgramClient",
  async ({ DeepgramClient }, { details, token = "", url = "" }, caller) => {
    const agent = new URL(url).origin
    const client = new DeepgramClient({ accessToken: token, environment: { base: agent, production: agent, agent } })
    const connection = await client.agent.v1.createConnection({ reconnectAttempts: 0 })
    caller.signal.throwIfAborted()
    caller.signal.addEventListener("abort", () => connection.close())
    const player = createPlayer(caller, RATE)
    return new Promise((resolve, reject) => {
      connection.on("open", () =>
        connection.sendSettings({
          type: "Settings",
          audio: { input: SOUND, output: { ...SOUND, container: "none" } },
          agent: details?.agentId,
        }),
      )
      connection.on("message", (message) => {
        if (message instanceof Blob) {
          void message.arrayBuffer().then(player.push)
          return
        }
        const { content, description, role, type } = fieldsOf(message)
        const said = text(content)
        switch (type) {
          case "SettingsApplied":
            resolve({
              hangUp: () => connection.close(),
              send: (words) => connection.sendInjectUserMessage({ type: "InjectUserMessage", content: words }),
            })
            capture(caller, RATE, (frame) => connection.sendMedia(frame))
            break
          case "ConversationText":
            if (said) caller.turn({ role: role === "user" ? "caller" : "agent", text: said })
            break
          case "UserStartedSpeaking":
            player.clear()
            break
          case "Error":
            reject(new Error(text(description) ?? "the agent failed"))
        }
      })
      connection.on("error", reject)
      connection.on("close", ({ code, reason }) => {
        player.close()
        reject(new Error(`Deepgram closed the connection: ${code} ${reason}`))
        caller.ended(code === 1006 ? "lost" : "remote")
      })
      connection.connect()
    })
  },
)
