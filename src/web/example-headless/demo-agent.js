/**
 * The demo's agent of another vendor (`npm start -- --vendor livekit`), in the place of that vendor's SDK: the vendor's fake lets the
 * caller in with the gate's credential, and the agent in this page repeats what it hears, one second later.
 */
const post = (path, body) => fetch(path, { method: "POST", keepalive: true, body: JSON.stringify(body) })

export const connect = async (credential, caller) => {
  const response = await post("/demo/join", credential)
  if (!response.ok) throw new Error("the vendor's fake does not know this credential")
  const call = await response.json()
  const context = new AudioContext()
  const to = new MediaStreamAudioDestinationNode(context)
  context
    .createMediaStreamSource(caller.microphone)
    .connect(new DelayNode(context, { delayTime: 1, maxDelayTime: 1 }))
    .connect(to)
  caller.play(to.stream)
  window.setTimeout(caller.turn, 0, {
    role: "agent",
    text: `Hello. I repeat what you say. This is a call of ${credential.platform}.`,
  })
  return {
    hangUp: async () => {
      await context.close()
      await post("/demo/leave", call)
    },
  }
}
