/** A page with its own user interface on the headless client. */
import { createVoiceAgent } from "/widget.js"

// only where the agent is of a vendor: the module of its SDK
const { sdk } = document.body.dataset
const agent = createVoiceAgent({ gate: "/", sdk, metadata: { page: "headless" } })
const element = (id) => document.getElementById(id)

/** The text shown for each state. */
const sentences = {
  idle: () => "Not in a call.",
  "checking-microphone": () => "Allow microphone access.",
  "no-microphone": ({ problem }) => `No microphone: ${problem}.`,
  connecting: () => "Connecting.",
  waiting: ({ place }) =>
    `Place ${place.position} in the queue.${place.disrupted ? " The voice agent is unavailable right now." : ""}`,
  "your-turn": ({ startBefore }) => `Your turn, until ${new Date(startBefore).toLocaleTimeString()}.`,
  "in-call": () => "In a call. You'll hear what you say one second later.",
  ended: ({ reason }) => `Ended: ${reason}.`,
  refused: ({ message }) => message || "Calls aren't available on this page.",
  offline: () => "The gate isn't responding. Retrying.",
}
const OVER = ["idle", "no-microphone", "ended", "refused"]

const show = (state) => {
  element("state").textContent = sentences[state.name](state)
  element("begin").disabled = !OVER.includes(state.name)
  element("leave").disabled = OVER.includes(state.name)
  element("start").disabled = state.name !== "your-turn" || state.starting
}

agent.on("state", show)
agent.on("level", ({ heard }) => {
  element("heard").value = Math.sqrt(heard)
})
agent.on("message", (text) => {
  const item = document.createElement("li")
  item.textContent = text
  element("messages").append(item)
})
for (const action of ["begin", "start", "leave"]) element(action).addEventListener("click", () => agent[action]())

show(agent.state)
// after a reload, resumes the place this tab had
await agent.resume()
