/** Daily, by `@daily-co/daily-js`: the caller's microphone goes into the room, and everything that is heard there is played. */
import { vendor } from "../../web/widget/vendors/vendor.ts"

interface Participant {
  readonly local: boolean
}

interface Room {
  readonly on: {
    (
      event: "track-started",
      listener: (told: { readonly participant: Participant | null; readonly track: MediaStreamTrack }) => void,
    ): unknown
    (event: "participant-left", listener: (told: { readonly participant: Participant }) => void): unknown
    (event: "left-meeting" | "error", listener: () => void): unknown
    (event: "network-connection", listener: (told: { readonly event: string }) => void): unknown
  }
  readonly join: (options: {
    readonly url: string | undefined
    readonly token: string | undefined
    readonly userData: Readonly<Record<string, string>>
  }) => Promise<unknown>
  readonly setLocalAudio: (on: boolean) => unknown
  readonly leave: () => Promise<unknown>
  readonly destroy: () => Promise<unknown>
}

type CreateCallObject = (options: {
  readonly audioSource: MediaStreamTrack | boolean
  readonly videoSource: false
}) => Room

export default vendor<{ readonly createCallObject: CreateCallObject }>(
  "@daily-co/daily-js",
  "createCallObject",
  async (daily, { token, url }, caller) => {
    const [audioSource = true] = caller.microphone.getAudioTracks()
    const room = daily.createCallObject({ audioSource, videoSource: false })
    const hangUp = async (): Promise<void> => {
      await room.leave()
      await room.destroy()
    }
    room.on("track-started", ({ participant, track }) => {
      if (participant?.local === false && track.kind === "audio") caller.play(new MediaStream([track]))
    })
    // the room stays open without its agent
    room.on("participant-left", ({ participant }) => {
      if (!participant.local) caller.ended("remote")
    })
    room.on("network-connection", ({ event }) => caller.link(event !== "interrupted"))
    room.on("left-meeting", () => caller.ended("remote"))
    room.on("error", () => caller.ended("lost"))
    try {
      await room.join({ url, token, userData: caller.dynamicVariables })
    } catch (error) {
      await room.destroy()
      throw error
    }
    return { hangUp, setMuted: (muted) => room.setLocalAudio(!muted) }
  },
)
