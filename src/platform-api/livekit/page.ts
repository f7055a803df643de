/** LiveKit, by `livekit-client` 2: the caller's microphone goes into the room, and everything that the agent says is played. */
import { vendor } from "../../web/widget/vendors/vendor.ts"

interface Track {
  readonly kind: string
  readonly mediaStreamTrack: MediaStreamTrack
}

interface Participant {
  readonly identity: string
  readonly isAgent?: boolean
}

interface TextReader {
  readonly info: { readonly attributes?: Readonly<Record<string, string>> }
  readonly readAll: () => Promise<string>
}

interface Room {
  readonly localParticipant: Participant & {
    readonly publishTrack: (
      track: MediaStreamTrack,
      options: { readonly source: string },
    ) => Promise<{ readonly mute: () => unknown; readonly unmute: () => unknown }>
    readonly sendText: (text: string, options: { readonly topic: string }) => Promise<unknown>
  }
  readonly on: {
    (event: "trackSubscribed", listener: (track: Track) => void): unknown
    (event: "participantDisconnected", listener: (participant: Participant) => void): unknown
    (event: "disconnected" | "reconnecting" | "reconnected", listener: () => void): unknown
  }
  readonly registerTextStreamHandler: (
    topic: string,
    handler: (reader: TextReader, from: { readonly identity: string }) => void,
  ) => void
  readonly connect: (url: string, token: string) => Promise<unknown>
  readonly disconnect: (stopTracks: boolean) => Promise<unknown>
}

/** The topics of LiveKit's agents: what was said, and what the caller writes. */
const TRANSCRIPTION = "lk.transcription"
const CHAT = "lk.chat"

export default vendor<{ readonly Room: new () => Room }>(
  "livekit-client",
  "Room",
  async ({ Room }, { token = "", url = "" }, caller) => {
    const room = new Room()
    room.on("trackSubscribed", ({ kind, mediaStreamTrack }) => {
      if (kind === "audio") caller.play(new MediaStream([mediaStreamTrack]))
    })
    room.on("reconnecting", () => caller.link(false))
    room.on("reconnected", () => caller.link(true))
    room.on("disconnected", () => caller.ended("remote"))
    // the room stays open without its agent
    room.on("participantDisconnected", ({ isAgent }) => {
      if (isAgent === true) caller.ended("remote")
    })
    room.registerTextStreamHandler(TRANSCRIPTION, (reader, { identity }) => {
      const add = (said: string): void => {
        // of the caller, what was understood so far comes before what is final
        if (said === "" || reader.info.attributes?.["lk.transcription_final"] === "false") return
        caller.turn({ role: identity === room.localParticipant.identity ? "caller" : "agent", text: said })
      }
      reader.readAll().then(add, () => {})
    })
    try {
      await room.connect(url, token)
      const [track] = caller.microphone.getAudioTracks()
      const published = track && (await room.localParticipant.publishTrack(track, { source: "microphone" }))
      return {
        hangUp: () => room.disconnect(false),
        setMuted: (muted) => (muted ? published?.mute() : published?.unmute()),
        send: (said) => room.localParticipant.sendText(said, { topic: CHAT }),
      }
    } catch (error) {
      await room.disconnect(false)
      throw error
    }
  },
)
