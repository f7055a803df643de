/**
 * The preview of a widget: in a frame of the gate's own origin, which follows the form at once, in any state, and as wide as a page or a
 * phone. A gate on this page's origin would share its data with the frame, so there is no preview of such a one.
 */
import type { JSX } from "preact"
import { useEffect, useId, useRef, useState } from "preact/hooks"
import type { SampleName } from "../../../widget/preview/samples.ts"
import { type EmbedInput, previewMessage } from "./embed-code.ts"

/** How long the gate's address rests before the preview is loaded, in milliseconds. */
const REST_MILLIS = 600
/** How long a gate may take to show the preview before the page says what may be wrong, in milliseconds. */
const PATIENCE_MILLIS = 5_000

/** The name of each state, in the order of a visit. */
const STATES: Readonly<Record<SampleName, string>> = {
  microphone: "Asking for the microphone",
  "no-microphone": "No microphone",
  unsupported: "No audio in this browser",
  connecting: "Connecting",
  waiting: "Waiting",
  next: "Waiting, next",
  far: "Waiting, far behind",
  paused: "Waiting, calls paused",
  "paused-budget": "Waiting, call time used up",
  disrupted: "Waiting, agent unavailable",
  offers: "Waiting, with another way",
  turn: "Your turn",
  call: "In call",
  muted: "In call, muted",
  writing: "In call, writing",
  ending: "In call, about to end",
  silence: "In call, nobody speaks",
  reconnecting: "In call, connection lost",
  left: "Left the queue",
  ended: "Call ended",
  missed: "Missed turn",
  lost: "Call lost",
  unreached: "Call not connected",
  closed: "Closed",
  full: "Queue full",
  draining: "No new calls",
  limited: "Too many calls",
  "limited-today": "Too many calls today",
  budget: "Call time used up",
  blocked: "Blocked",
  failed: "Agent unavailable",
  offline: "Gate unreachable",
}

export const Preview = ({ of }: { readonly of: EmbedInput }): JSX.Element => {
  const wanted = `${of.gate}/widget/preview`
  const [url, setUrl] = useState(wanted)
  const [load, setLoad] = useState<"loading" | "shown" | "missing">("loading")
  const [state, setState] = useState("")
  const [narrow, setNarrow] = useState(false)
  const inner = useRef<MessageEventSource | null>(null)
  const id = useId()
  const message = previewMessage(of, state)
  const latest = useRef(message)
  latest.current = message
  const tell = (): void => inner.current?.postMessage(latest.current, { targetOrigin: new URL(url).origin })

  useEffect(() => {
    const timer = window.setTimeout(() => setUrl(wanted), REST_MILLIS)
    return () => clearTimeout(timer)
  }, [wanted])
  useEffect(() => {
    setLoad("loading")
    inner.current = null
    const timer = window.setTimeout(() => setLoad((now) => (now === "shown" ? now : "missing")), PATIENCE_MILLIS)
    const hear = ({ data, origin, source }: MessageEvent): void => {
      if (data !== "voicegate-preview" || origin !== new URL(url).origin) return
      inner.current = source
      setLoad("shown")
      tell()
    }
    addEventListener("message", hear)
    return () => {
      clearTimeout(timer)
      removeEventListener("message", hear)
    }
  }, [url])
  useEffect(tell, [JSON.stringify(message)])

  if (of.gate === location.origin) {
    return <p class="small">A gate at this dashboard’s own address can’t be previewed.</p>
  }
  return (
    <>
      <div class="filters">
        <div class="filter">
          <label for={id}>Show</label>
          <select id={id} value={state} onChange={({ currentTarget }) => setState(currentTarget.value)}>
            <option value="">The live widget</option>
            {Object.entries(STATES).map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </div>
        <div class="filter">
          <input
            id={`${id}-phone`}
            type="checkbox"
            checked={narrow}
            onChange={({ currentTarget }) => setNarrow(currentTarget.checked)}
          />
          <label for={`${id}-phone`}>As wide as a phone</label>
        </div>
      </div>
      <p class="small">
        {state === "" ? "Calls you start here are real." : "This is a sample: its buttons work, and no call is made."}
      </p>
      {load === "missing" && (
        <p class="notice" role="alert">
          The gate isn’t showing its preview here. Check its address, and add <code>{location.origin}</code> to its{" "}
          <code>Security.AllowedOrigins</code>.
        </p>
      )}
      <iframe
        key={url}
        class={["preview", ...(narrow ? ["narrow"] : []), ...(of.mode === "floating" ? ["floating"] : [])].join(" ")}
        title="Preview of the widget"
        src={`preview?${new URLSearchParams({ url })}`}
        sandbox="allow-scripts allow-same-origin allow-forms"
        allow="microphone; autoplay"
        referrerpolicy="no-referrer"
      />
    </>
  )
}
