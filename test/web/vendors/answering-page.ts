/** A page in the place of OpenAI's end of a call: it answers an offer with a tone, and says a few turns on the data channel. */
import type { Page } from "playwright-core"
import type { Visitor } from "../visitor.ts"
import type { VendorRig } from "./rig.ts"

const SCRIPT = `window.answer = async (sdp) => {
  const peer = (window.peer = new RTCPeerConnection())
  const context = new AudioContext()
  const to = new MediaStreamAudioDestinationNode(context)
  const tone = new OscillatorNode(context)
  tone.connect(to)
  tone.start()
  peer.addTrack(to.stream.getAudioTracks()[0], to.stream)
  window.received = []
  peer.ondatachannel = ({ channel }) => {
    const send = (message) => channel.send(JSON.stringify({ event_id: "event", ...message }))
    channel.onmessage = ({ data }) => {
      const { session, type } = JSON.parse(data)
      window.received.push(type)
      if (type === "session.update") send({ type: "session.updated", session: { id: "session", ...session } })
    }
    window.talk = () => {
      send({ type: "response.output_audio_transcript.delta", delta: "Go", response_id: "r", item_id: "i", output_index: 0, content_index: 0 })
      send({ type: "response.output_audio_transcript.done", transcript: "Good morning.", response_id: "r", item_id: "i", output_index: 0, content_index: 0 })
      send({ type: "conversation.item.input_audio_transcription.completed", transcript: "My order is late.", item_id: "i", content_index: 0 })
    }
  }
  await peer.setRemoteDescription({ type: "offer", sdp })
  await peer.setLocalDescription()
  await new Promise((resolve) => {
    const check = () => peer.iceGatheringState === "complete" && resolve()
    peer.onicegatheringstatechange = check
    check()
  })
  return peer.localDescription.sdp
}`

export interface AnsweringPage {
  readonly tab: Page
  /** The answer to an offer. */
  readonly answer: (sdp: string) => Promise<string>
  /**
   * Says the turns. To be called once the other page's channel is open, because Chromium loses some of the messages that arrive
   * before: in 5 of 1,300 calls on a busy machine.
   */
  readonly talk: () => Promise<void>
  /** The types of what came on the data channel. */
  readonly received: () => Promise<ReadonlyArray<string>>
}

export const openAnsweringPage = async (rig: VendorRig, visitor: Visitor): Promise<AnsweringPage> => {
  rig.files["/agent"] = `<!doctype html><title>Agent</title><script src="/agent.js"></script>`
  rig.files["/agent.js"] = SCRIPT
  const tab = await visitor.open(`${rig.site}/agent`)
  return {
    tab,
    answer: (sdp) => tab.evaluate<string>(`answer(${JSON.stringify(sdp)})`),
    talk: async () => {
      // this page may learn of the channel after it has opened on the other
      await tab.waitForFunction("window.talk")
      await tab.evaluate("talk()")
    },
    received: () => tab.evaluate<ReadonlyArray<string>>("window.received ?? []"),
  }
}
