/**
 * Scripts in the place of vendors' SDKs, with the part of each SDK's interface that the widget uses. They note what the widget does in
 * `window.done`, and a test makes the agent speak or end the call by `window.agent`.
 */

/** Notes and a sound of the agent, shared by all. */
const COMMON = `
  const done = (window.done ??= [])
  const note = (...what) => { done.push(what.join(" ")) }
  const tone = () => {
    const context = new AudioContext()
    const to = new MediaStreamAudioDestinationNode(context)
    const tone = new OscillatorNode(context)
    tone.connect(to)
    tone.start()
    return to.stream
  }
  class Emitter {
    heard = {}
    on(type, listener) { this.heard[type] = listener }
    emit(type, ...what) { this.heard[type]?.(...what) }
  }
`

const LIVEKIT = `
  export class Room extends Emitter {
    localParticipant = {
      identity: "caller",
      publishTrack: async (track, { source }) => {
        note("publishes", track.kind, source)
        return { mute: () => note("mutes"), unmute: () => note("unmutes") }
      },
      sendText: async (text, { topic }) => note("sends", topic, text),
    }
    registerTextStreamHandler(topic, handler) { this.handler = handler; note("listens to", topic) }
    async connect(url, token) {
      note("connects", url, token)
      const say = (identity, text, final) => this.handler(
        { info: { attributes: { "lk.transcription_final": final } }, readAll: async () => text }, { identity })
      window.agent = {
        says: (text) => { say("agent", text.slice(0, 3), "false"); say("agent", text, "true") },
        hears: (text) => say("caller", text, "true"),
        hangsUp: () => this.emit("participantDisconnected", { identity: "agent", isAgent: true }),
        link: (open) => this.emit(open ? "reconnected" : "reconnecting"),
      }
      const [mediaStreamTrack] = tone().getAudioTracks()
      this.emit("trackSubscribed", { kind: "audio", mediaStreamTrack })
    }
    async disconnect(stopTracks) { note("hangs up", stopTracks); this.emit("disconnected") }
  }`

const RETELL = `
  export class RetellWebClient extends Emitter {
    turns = []
    async startCall({ accessToken, callId, transport, iceServers }) {
      note("connects", accessToken, callId, transport, iceServers.length)
      const add = (role, content) => { this.turns.push({ role, content }); this.emit("update", { transcript: this.turns }) }
      window.agent = {
        says: (text) => { add("agent", text); add("user", "") },
        hears: (text) => { this.turns.pop(); add("user", text); add("agent", "") },
        hangsUp: () => this.emit("call_ended"),
      }
      this.emit("call_started")
      window.setInterval(() => this.emit("audio", new Float32Array(128).fill(0.3)), 50)
    }
    mute() { note("mutes") }
    unmute() { note("unmutes") }
    stopCall() { note("hangs up"); this.emit("call_ended") }
  }`

const VAPI = `
  export default class Vapi extends Emitter {
    constructor(key, api, daily, { audioSource }) { super(); note("publishes", audioSource.kind) }
    async reconnect({ webCallUrl }) {
      note("connects", webCallUrl)
      const say = (role) => (transcript) => {
        this.emit("message", { type: "transcript", role, transcriptType: "partial", transcript: "…" })
        this.emit("message", { type: "transcript", role, transcriptType: "final", transcript })
      }
      window.agent = { says: say("assistant"), hears: say("user"), hangsUp: () => this.emit("call-end") }
      window.setInterval(() => this.emit("volume-level", 0.3), 50)
    }
    setMuted(muted) { note(muted ? "mutes" : "unmutes") }
    send({ type, message }) { note("sends", type, message.content) }
    async stop() { note("hangs up"); this.emit("call-end") }
  }`

const ELEVENLABS = `
  export const Conversation = {
    startSession: async ({ signedUrl, dynamicVariables, onMessage, onDisconnect, onDebug }) => {
      note("connects", signedUrl, JSON.stringify(dynamicVariables))
      const queues = (status) => onDebug({ type: "queue_status", queue_status_event: { status } })
      if (window.holds === "first") queues("waiting")
      window.agent = {
        queues,
        says: (message) => onMessage({ message, source: "ai" }),
        hears: (message) => onMessage({ message, source: "user" }),
        hangsUp: () => onDisconnect({ reason: "agent" }),
      }
      return {
        setMicMuted: (muted) => note(muted ? "mutes" : "unmutes"),
        sendUserMessage: (text) => note("sends", text),
        getOutputVolume: () => 0.3,
        endSession: async () => { note("hangs up"); onDisconnect({ reason: "user" }) },
      }
    },
  }`

const ULTRAVOX = `
  export class UltravoxSession extends EventTarget {
    status = "disconnected"
    transcripts = []
    become(status) { this.status = status; this.dispatchEvent(new Event("status")) }
    joinCall(url) {
      note("connects", url)
      const say = (speaker) => (text) => {
        this.transcripts.push({ speaker, text: "…", isFinal: false })
        this.dispatchEvent(new Event("transcripts"))
        this.transcripts[this.transcripts.length - 1] = { speaker, text, isFinal: true }
        this.dispatchEvent(new Event("transcripts"))
      }
      window.agent = { says: say("agent"), hears: say("user"), hangsUp: () => this.become("disconnected") }
      this.become("connecting")
      window.setTimeout(() => { this.become("idle"); this.become("speaking") })
    }
    muteMic() { note("mutes") }
    unmuteMic() { note("unmutes") }
    sendText(text) { note("sends", text) }
    async leaveCall() { note("hangs up"); this.become("disconnecting"); this.become("disconnected") }
  }`

const OWN = `
  export const connect = async ({ platform, url, token }, caller) => {
    note("connects", platform, url, token)
    window.agent = {
      says: (text) => caller.turn({ role: "agent", text }),
      hears: (text) => caller.turn({ role: "caller", text }),
      hangsUp: () => caller.ended("remote"),
      link: caller.link,
    }
    caller.play(tone())
    return {
      hangUp: () => note("hangs up"),
      setMuted: (muted) => note(muted ? "mutes" : "unmutes"),
      send: (text) => note("sends", text),
    }
  }`

/** By platform. */
export const DOUBLES: Readonly<Record<string, string>> = {
  livekit: COMMON + LIVEKIT,
  retell: COMMON + RETELL,
  vapi: COMMON + VAPI,
  elevenlabs: COMMON + ELEVENLABS,
  ultravox: COMMON + ULTRAVOX,
  generic: COMMON + OWN,
}
