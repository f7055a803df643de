/** Vapi, by `@vapi-ai/web` 2, which plays the agent itself. */
import { fieldsOf, text } from "../../web/widget/gate/json.ts"
import { vendor } from "../../web/widget/vendors/vendor.ts"

interface Client {
  readonly on: {
    (event: "call-end", listener: () => void): unknown
    (event: "error", listener: (error: unknown) => void): unknown
    (event: "message", listener: (message: unknown) => void): unknown
    (event: "volume-level", listener: (volume: number) => void): unknown
  }
  /** The details of the credential are the fields of the call that the SDK reads besides its address. */
  readonly reconnect: (call: { readonly webCallUrl: string | undefined }) => Promise<unknown>
  readonly stop: () => Promise<unknown>
  readonly setMuted: (muted: boolean) => void
  readonly send: (message: object) => void
}

/** The key, the API's address and Daily's settings are not needed to join a call that has begun. */
type New = new (
  key: string,
  api: undefined,
  daily: undefined,
  call: { readonly audioSource: MediaStreamTrack | undefined },
) => Client

export default vendor<{ readonly default: New }>(
  "@vapi-ai/web",
  "default",
  async (module, { details, url }, caller) => {
    // a bundler of the page may have put the module of the package into its own
    const inner: unknown = module.default
    const Vapi = isModule(inner) ? inner.default : module.default
    const [audioSource] = caller.microphone.getAudioTracks()
    const vapi = new Vapi("", undefined, undefined, { audioSource })
    let failed: unknown
    vapi.on("error", (error) => {
      failed ??= error
    })
    vapi.on("call-end", () => caller.ended("remote"))
    vapi.on("volume-level", caller.heard)
    vapi.on("message", (message) => {
      const { role, transcript, transcriptType, type } = fieldsOf(message)
      const said = text(transcript)
      if (type === "transcript" && transcriptType === "final" && said)
        caller.turn({ role: role === "user" ? "caller" : "agent", text: said })
    })
    await vapi.reconnect({ ...details, webCallUrl: url })
    if (failed !== undefined) throw failed
    return {
      hangUp: () => vapi.stop(),
      setMuted: (muted) => vapi.setMuted(muted),
      send: (content) => vapi.send({ type: "add-message", message: { role: "user", content } }),
    }
  },
)

const isModule = (value: unknown): value is { readonly default: New } =>
  typeof value === "object" && value !== null && "default" in value
