/** Retell, by `retell-client-js-sdk`, which opens the microphone and plays the agent itself. */
import { fieldsOf, list, text } from "../../web/widget/gate/json.ts"
import { vendor } from "../../web/widget/vendors/vendor.ts"

interface Client {
  readonly on: {
    (event: "call_started" | "call_ended", listener: () => void): unknown
    (event: "error", listener: (error: unknown) => void): unknown
    (event: "update", listener: (update: unknown) => void): unknown
    (event: "audio", listener: (samples: Float32Array) => void): unknown
  }
  readonly startCall: (config: Readonly<Record<string, unknown>>) => Promise<unknown>
  readonly stopCall: () => void
  readonly mute: () => void
  readonly unmute: () => void
}

export default vendor<{ readonly RetellWebClient: new () => Client }>(
  "retell-client-js-sdk",
  "RetellWebClient",
  ({ RetellWebClient }, { details = {}, token }, caller) =>
    new Promise((resolve, reject) => {
      const client = new RetellWebClient()
      let turns: ReadonlyArray<unknown> = []
      let told = 0
      const tell = (until: number): void => {
        for (; told < until; told++) {
          const { content, role } = fieldsOf(turns[told])
          const said = text(content)
          if (said) caller.turn({ role: role === "agent" ? "agent" : "caller", text: said })
        }
      }
      client.on("update", (update) => {
        const { transcript } = fieldsOf(update)
        // each update has the last turns again, of which the very last may still grow
        turns = list(transcript)
        tell(turns.length - 1)
      })
      client.on("audio", (samples) =>
        caller.heard(Math.sqrt(samples.reduce((sum, x) => sum + x * x, 0) / samples.length)),
      )
      client.on("call_ended", () => {
        tell(turns.length)
        caller.ended("remote")
      })
      client.on("error", (error) => {
        reject(error)
        caller.ended("lost")
      })
      client.on("call_started", () =>
        resolve({ hangUp: () => client.stopCall(), setMuted: (muted) => (muted ? client.mute() : client.unmute()) }),
      )
      const { callId, iceServers, transport } = details
      client
        .startCall({
          accessToken: token,
          callId,
          transport,
          iceServers,
          emitRawAudioSamples: true,
          captureDeviceId: caller.deviceId,
        })
        .catch(reject)
    }),
)
