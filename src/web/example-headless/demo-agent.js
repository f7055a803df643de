/**
 * The demo's agent of another vendor (`npm start -- --vendor livekit`), in the place of that vendor's SDK: the vendor's fake lets the
 * caller in with the gate's credential, and the agent in this page repeats what it hears, one second later.
 */
const post = (path, body) =>
  // at the demo, also when the page is of another origin
  fetch(new URL(path, import.meta.url), { method: "POST", keepalive: true, body: JSON.stringify(body) })

/** Joins the call. The one of a credential for an SDP offer begins with the offer, at the gate, and its answer names the call. */
const join = async (credential) => {
  if (credential.shape !== "sdp-relay") return post("/demo/join", credential)
  const headers = { "content-type": "application/sdp", authorization: `Bearer ${credential.token}` }
  const body = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n"
  const answer = await fetch(credential.url, { method: "POST", headers, body })
  const [, id] = /^s=answer to (\S+)$/m.exec(await answer.text()) ?? []
  return id === undefined ? answer : Response.json({ id }, { status: 200 })
}

export const connect = async (credential, caller) => {
  const response = await join(credential)
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
