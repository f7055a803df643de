/**
 * `preview.js`: the script of the page `/widget/preview`, which shows the widget alone. The page that frames it sends a message for the
 * attributes and for the state to show. A state is a sample: the widget's own screens, with a visit behind them that asks the gate for
 * nothing. Without one the widget is as on any page, and its calls are real.
 *
 * A link may set only attributes that show no text of its own and load nothing; the others come by messages alone, which only a page that
 * may frame this one can send: one of `Security.AllowedOrigins`, which may embed the widget with any text anyway.
 */
import "../index.ts"
import type { VisitPart } from "../client/load.ts"
import type { VoiceAgentState } from "../client/state.ts"
import type { Turn } from "../screens/transcript.ts"
import type { Visit } from "../visit/visit.ts"
import type { Visitor } from "../visit/visitor.ts"
import { SAMPLES, type SampleName } from "./samples.ts"

const BY_LINK = (
  "campaign region mode corner theme lang dir languages audio push-to-talk captions text-input check ring notify " +
  "auto-start rating handoff picture-in-picture launcher size one-tap"
).split(" ")
const BY_MESSAGE = "agent-name heading accent avatar consent consent-link consent-remember".split(" ")

/** What is said in a call's sample. */
const TURNS: ReadonlyArray<Turn> = [
  { role: "agent", text: "Hi, how can I help?" },
  { role: "caller", text: "Where is my order?" },
  { role: "agent", text: "It left our warehouse this morning." },
]

/** What the framing page sends, and this one answers with when it is ready. */
const PREVIEW = "voicegate-preview"
/** How often the loudness of a sample's call changes, in milliseconds. */
const BEAT = 60

const query = new URLSearchParams(location.search)
const widget = document.createElement("voice-agent")
widget.setAttribute("gate", new URL("..", location.href).href)
for (const name of BY_LINK) if (query.has(name)) widget.setAttribute(name, query.get(name) ?? "")

let sample: SampleName | undefined

/** A visit that shows the sample, and what the visitor's buttons lead to. */
const openSample = (shown: SampleName, visitor: Visitor): Visit => {
  let state: VoiceAgentState = SAMPLES[shown](Date.now())
  let talking: number | undefined
  const silence = (): void => window.clearInterval(talking)
  const show = (next: VoiceAgentState): void => {
    state = next
    visitor.show(state)
    silence()
    if (state.name !== "in-call") return
    talking = window.setInterval(() => {
      const wave = Math.sin(Date.now() / 300) * Math.sin(Date.now() / 1_700)
      visitor.heard(wave > 0 ? wave * 0.7 : 0)
      visitor.said(wave < 0 ? -wave * 0.5 : 0)
    }, BEAT)
  }
  const call = (): void => {
    const shownCall = state.name === "in-call" ? state : SAMPLES.call(Date.now())
    // forgets what was said in the call before
    show({ name: "connecting", to: "agent" })
    show(shownCall)
    for (const turn of TURNS) visitor.turn(turn)
  }
  return {
    begin: async () => (state.name === "in-call" ? call() : show(state)),
    resume: async () => false,
    interrupted: () => {},
    start: async () => call(),
    setMuted: (muted) => {
      if (state.name === "in-call") show({ ...state, muted })
    },
    useMicrophone: () => {},
    send: (text) => {
      visitor.turn({ role: "caller", text })
      return true
    },
    retry: () => {},
    take: () => {},
    hangUp: () => {
      if (state.name !== "in-call") return false
      show(SAMPLES.ended())
      return true
    },
    leave: silence,
  }
}

/** Behind the widget's own `load`, which also gives it its screens. */
const load: unknown = Reflect.get(widget, "load")
if (typeof load !== "function") throw new Error("The widget has no load.")
Object.assign(widget, {
  load: async (...given: ReadonlyArray<unknown>): Promise<VisitPart> => {
    const loaded: VisitPart = await Reflect.apply(load, widget, given)
    const shown = sample
    return shown === undefined ? loaded : { openVisit: (_, visitor) => openSample(shown, visitor) }
  },
})

const isSample = (name: string): name is SampleName => Object.hasOwn(SAMPLES, name)

/** An empty name is the widget as it is on any page. */
const showSample = (name: string): void => {
  if (name === (sample ?? "")) return
  sample = isSample(name) ? name : undefined
  // the window of the floating form, which a visitor opens
  widget.toggleAttribute("open", sample !== undefined)
  if (sample !== undefined) {
    widget.agent.begin()
    return
  }
  // the first one hangs up
  widget.agent.leave()
  widget.agent.leave()
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

addEventListener("message", ({ data, source }: MessageEvent<unknown>) => {
  if (source !== top || top === window || !isRecord(data) || !isRecord(data[PREVIEW])) return
  const { attributes, state } = data[PREVIEW]
  if (isRecord(attributes)) {
    for (const name of [...BY_LINK, ...BY_MESSAGE]) {
      const value = attributes[name]
      if (typeof value !== "string") widget.removeAttribute(name)
      else if (widget.getAttribute(name) !== value) widget.setAttribute(name, value)
    }
  }
  if (typeof state === "string") showSample(state)
})

document.body.append(widget)
// in the middle of the frame, so that a wide one is no page with the widget at its edge
const middle = new CSSStyleSheet()
middle.replaceSync(':host(:not([mode="floating"])) .panel { margin-inline: auto }')
widget.shadowRoot?.adoptedStyleSheets.push(middle)
if (top !== window) top?.postMessage(PREVIEW, "*")
