/**
 * Lets the visitor choose a microphone and see that it is heard, before a call or while waiting for one. The microphone is on while this
 * screen is shown, and what it hears goes nowhere.
 */
import { openContext } from "../audio/context.ts"
import { loudness } from "../audio/format.ts"
import { chooseMicrophone, NoSound, openMicrophone } from "../audio/microphone.ts"
import type { MicrophoneProblem } from "../client/state.ts"
import { noMicrophone } from "../words/first-words.ts"
import { fillDevices } from "./devices.ts"
import { h, setText } from "./dom.ts"
import { microphoneIcon } from "./icons.ts"
import { createMeter } from "./meter.ts"
import { nothing, partsOf, type Screen, type Tools } from "./parts.ts"

export interface CheckScreen extends Screen {
  /** Stops the microphone. */
  readonly close: () => void
}

/** How often the level is measured, in milliseconds. */
const MEASURE_EVERY = 50
/** The loudness of a voice (-40 dB), and how many measurements at least as loud prove that the visitor is heard. */
const VOICE = 0.01
const HEARD_AFTER = 6
/** How long a visitor may be silent before the screen says that nothing is heard, in milliseconds. */
const SILENT_AFTER = 6_000

export const checkScreen = (tools: Tools): CheckScreen => {
  const { say } = tools
  const { actions, button, picture, text, title } = partsOf(tools)
  const devices = document.createElement("select")
  const label = h("span", { class: "small" })
  // there before it is known what is in it: what came later would move the rest
  const picker = h("label", { class: "field" }, label, devices)
  const meter = createMeter("")
  const verdict = h("p", { class: "verdict", role: "status" })
  const notice = text("", "notice")
  let told = "check.speak"
  let problem: MicrophoneProblem | undefined
  /** aborted when the screen goes, or another device is chosen */
  let listening = new AbortController()

  const tell = (key: string, wrong?: MicrophoneProblem): void => {
    told = key
    problem = wrong
    picker.hidden = wrong !== undefined && devices.length === 0
    setText(verdict, wrong === undefined ? say(key) : "")
    verdict.classList.toggle("heard", key === "check.heard")
    setText(notice, wrong === undefined ? "" : noMicrophone({ name: "no-microphone", problem: wrong }, say).join(". "))
  }

  const listen = async (): Promise<void> => {
    listening.abort()
    listening = new AbortController()
    const { signal } = listening
    tell("check.speak")
    let stream: MediaStream | undefined
    let context: AudioContext
    const stop = (): void => {
      for (const track of stream?.getTracks() ?? []) track.stop()
    }
    try {
      stream = await openMicrophone()
      context = openContext(stream)
    } catch (error) {
      stop()
      if (!signal.aborted) tell(told, error instanceof NoSound ? error.problem : "missing")
      return
    }
    const release = (): void => {
      stop()
      void context.close()
      meter.show(0)
    }
    if (signal.aborted) return release()
    const analyser = new AnalyserNode(context, { fftSize: 1024 })
    context.createMediaStreamSource(stream).connect(analyser)
    const samples = new Float32Array(analyser.fftSize)
    const since = performance.now()
    let voiced = 0
    const measure = (): void => {
      analyser.getFloatTimeDomainData(samples)
      const level = loudness(samples)
      meter.show(level)
      if (level > VOICE && ++voiced === HEARD_AFTER) tell("check.heard")
      if (voiced === 0 && performance.now() - since > SILENT_AFTER) tell("check.silent")
    }
    const measuring = window.setInterval(measure, MEASURE_EVERY)
    signal.addEventListener("abort", () => {
      window.clearInterval(measuring)
      release()
    })
    await fillDevices(devices, stream.getAudioTracks()[0]?.getSettings().deviceId, say)
  }

  devices.addEventListener("change", () => {
    chooseMicrophone(devices.value)
    void listen()
  })
  void listen()
  return {
    // again in another language, while the microphone stays on
    get nodes() {
      tell(told, problem)
      setText(label, say("check.device"))
      meter.element.ariaLabel = say("check.level")
      return [
        picture(microphoneIcon()),
        title(say("check.begin")),
        picker,
        h("div", { class: "hearing" }, meter.element, verdict),
        notice,
        actions(button("check.done", () => tools.check(false), "primary")),
      ]
    },
    update: nothing,
    tick: nothing,
    close: () => listening.abort(),
  }
}
