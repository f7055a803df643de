/**
 * OpenAI, without an SDK: the page's offer goes through the gate, so that no secret of the vendor reaches the page. What is said comes
 * on the data channel.
 */
import { parse, text } from "../../web/widget/gate/json.ts"
import type { Connect, Vendor } from "../../web/widget/vendors/vendor.ts"

/** How long candidates may be gathered before the offer is sent with those that are known, in milliseconds. */
const GATHER_WITHIN = 1_000

const gathered = (peer: RTCPeerConnection): Promise<void> =>
  new Promise((resolve) => {
    const check = (): void => {
      if (peer.iceGatheringState === "complete") resolve()
    }
    peer.addEventListener("icegatheringstatechange", check)
    window.setTimeout(resolve, GATHER_WITHIN)
    check()
  })

const connect: Connect<object> = async (_, { token = "", url = "" }, caller) => {
  const peer = new RTCPeerConnection()
  const channel = peer.createDataChannel("oai-events")
  peer.addEventListener("track", ({ streams: [stream], track }) => caller.play(stream ?? new MediaStream([track])))
  channel.addEventListener("message", ({ data }) => {
    const { transcript, type } = parse(String(data))
    const said = text(transcript)?.trim()
    if (!said) return
    if (type === "response.output_audio_transcript.done") caller.turn({ role: "agent", text: said })
    else if (type === "conversation.item.input_audio_transcription.completed")
      caller.turn({ role: "caller", text: said })
  })
  for (const track of caller.microphone.getAudioTracks()) peer.addTrack(track, caller.microphone)
  const opened = new Promise<void>((resolve, reject) => {
    // not when the peer is connected: only an open channel carries what is said and written
    channel.addEventListener("open", () => resolve())
    channel.addEventListener("close", () => caller.ended("remote"))
    caller.signal.addEventListener("abort", () => {
      reject(new Error("the call was given up"))
      peer.close()
    })
    peer.addEventListener("connectionstatechange", () => {
      const state = peer.connectionState
      caller.link(state === "connected")
      if (state !== "failed" && state !== "closed") return
      reject(new Error(state))
      caller.ended("lost")
    })
  })
  opened.catch(() => {})
  try {
    await peer.setLocalDescription()
    await gathered(peer)
    const headers = { "content-type": "application/sdp", authorization: `Bearer ${token}` }
    const body = peer.localDescription?.sdp ?? ""
    // the gate ends a call whose page has not waited for the answer
    const response = await fetch(url, { method: "POST", headers, body, signal: caller.signal })
    if (!response.ok) throw new Error(`the offer was refused: ${response.status}`)
    await peer.setRemoteDescription({ type: "answer", sdp: await response.text() })
    await opened
  } catch (error) {
    peer.close()
    throw error
  }
  return {
    hangUp: () => peer.close(),
    use: (microphone) => peer.getSenders()[0]?.replaceTrack(microphone.getAudioTracks()[0] ?? null),
    send: (said) => {
      const content = [{ type: "input_text", text: said }]
      channel.send(
        JSON.stringify({ type: "conversation.item.create", item: { type: "message", role: "user", content } }),
      )
      channel.send('{"type":"response.create"}')
    },
  }
}

const openai: Vendor = {
  sdk: undefined,
  connector: () => (credential, caller) => connect({}, credential, caller),
}

export default openai
