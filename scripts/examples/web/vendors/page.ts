/** The user interface of these examples: waits in the queue, calls, and shows what is said. */
import type { VoiceAgent, VoiceAgentState } from "voicegate/widget"

const find = (id: string): HTMLElement => {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`no element ${id}`)
  return found
}

const sentence = (state: VoiceAgentState): string =>
  state.name === "waiting" ? `waiting, number ${state.place.position}` : state.name

export const show = (agent: VoiceAgent): void => {
  agent.on("state", (state) => {
    find("state").textContent = sentence(state)
  })
  agent.on("turn", ({ role, text }) => {
    const item = document.createElement("li")
    item.textContent = `${role}: ${text}`
    find("turns").append(item)
  })
  find("begin").addEventListener("click", agent.begin)
  find("start").addEventListener("click", agent.start)
  find("leave").addEventListener("click", agent.leave)
  void agent.resume()
}
