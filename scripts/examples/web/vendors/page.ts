/** The user interface of these examples: waits in the queue, calls, and shows what is said. */
import type { VoiceAgent, VoiceAgentState } from "voicegate/widget"

const sentence = (state: VoiceAgentState): string =>
  state.name === "waiting" ? `waiting, number ${state.place.position}` : state.name

const add = (name: string, words = "", parent: Element = document.body): HTMLElement => {
  const element = document.createElement(name)
  element.textContent = words
  parent.append(element)
  return element
}

export const show = (agent: VoiceAgent): void => {
  add("h1", document.title)
  const state = add("p", "idle")
  state.id = "state"
  state.role = "status"
  const buttons = add("p")
  add("button", "Talk", buttons).addEventListener("click", agent.begin)
  add("button", "Start the call", buttons).addEventListener("click", agent.start)
  add("button", "Leave", buttons).addEventListener("click", agent.leave)
  const turns = add("ul")
  agent.on("state", (next) => {
    state.textContent = sentence(next)
  })
  agent.on("turn", ({ role, text }) => {
    add("li", `${role}: ${text}`, turns)
  })
  void agent.resume()
}
