/** The widget in React 19, and a user interface of one's own with the hook. */
import { StrictMode, useState } from "react"
import { createRoot } from "react-dom/client"
import { useVoiceAgent } from "voicegate/widget/react"

const Support = () => {
  const [shown, setShown] = useState("idle")
  return (
    <>
      <voice-agent gate="/" metadata={{ page: "/cart" }} onstatechange={({ detail }) => setShown(detail.name)} />
      <output>{shown}</output>
    </>
  )
}

const Talk = () => {
  const [state, agent] = useVoiceAgent({ gate: "/" })
  if (state.name === "idle" || state.name === "ended")
    return (
      <button type="button" onClick={agent.begin}>
        Talk
      </button>
    )
  if (state.name === "your-turn")
    return (
      <button type="button" onClick={agent.start}>
        Start the call
      </button>
    )
  return (
    <button type="button" onClick={agent.leave}>
      Leave: {state.name === "waiting" ? `number ${state.place.position}` : state.name}
    </button>
  )
}

const app = document.querySelector("#app")
if (app !== null)
  createRoot(app).render(
    <StrictMode>
      <Support />
      <Talk />
    </StrictMode>,
  )
