/** The screen of a call: the orb and the levels, the transcript with a text field, and the buttons, which are always there. */

import { clock } from "../words/first-words.ts"
import { endWarning, troubleOf } from "../words/visit-words.ts"
import { devicePicker } from "./devices.ts"
import { h, setText } from "./dom.ts"
import { captionsIcon, hangUpIcon, microphoneIcon, sendIcon } from "./icons.ts"
import { createMeter } from "./meter.ts"
import { createOrbLevels } from "./orb-levels.ts"
import { lookOf, partsOf, type Screen, type Tools } from "./parts.ts"
import { createTalkButton } from "./talk-button.ts"
import type { Transcript } from "./transcript.ts"

/** Loudness from which a voice counts as one: -40 dB. */
const VOICE = 0.01
/** How long the agent may say nothing at first, in milliseconds, before the screen says so. */
const QUIET_AFTER = 5_000
/** How long the agent counts as speaking after its last sound: a pause between words. In milliseconds. */
const PAUSE = 700

/** What the visitor has chosen on this screen, and keeps for the next call. */
export interface CallSettings {
  captions: boolean
}

export const callScreen = (tools: Tools, transcript: Transcript, settings: CallSettings): Screen => {
  const { say } = tools
  const { actions, button, orb: newOrb, text, title } = partsOf(tools)
  const timer = h("p", { class: "timer", role: "timer" })
  const notice = text("", "notice warning")
  const warning = text()
  const mood = text("", "mood")
  const orb = newOrb("live")
  const stage = h("div", { class: "stage" }, orb, mood)
  const levels = createOrbLevels(orb)
  const talk = tools.pushToTalk() ? createTalkButton(tools) : undefined
  const muting = talk ?? button("in-call.mute", "mute", "mute", microphoneIcon())
  const picker = devicePicker(tools)
  const hangUp = button("in-call.hang-up", "leave", "hang-up", hangUpIcon())
  const captions = button(
    "",
    () => {
      settings.captions = !settings.captions
      showCaptions()
    },
    "captions",
    captionsIcon(),
  )
  captions.title = captions.ariaLabel = say("in-call.captions")
  const { name } = lookOf(tools)
  const agent = name || say("in-call.agent")
  const [said, heard] = [createMeter(say("in-call.you")), createMeter(agent)]
  const field = textField(tools, transcript)
  const again = button("try-again", "retry")
  const microphone = h("span", { class: "split" }, muting, picker)
  let muted = false
  let writes = false
  let spoke = 0
  /** whether nothing has come from the agent for too long, since the call began */
  let quiet = false

  const showMood = (): void => {
    // with a notice nobody listens: the line is dead, or the microphone is gone
    const now = muted || !notice.hidden ? "muted" : performance.now() - spoke < PAUSE ? "speaking" : "listening"
    levels.mood(now)
    const idle = now === "listening"
    // nobody listens to one who writes
    setText(mood, notice.hidden && !(writes && idle) ? say(`in-call.${quiet && idle ? "quiet" : now}`, { agent }) : "")
  }
  const showCaptions = (): void => {
    captions.ariaPressed = String(settings.captions)
    // one who writes reads the answers
    transcript.element.hidden = !(settings.captions || writes) || transcript.isEmpty()
    transcript.trim()
  }
  return {
    nodes: [
      h("div", { class: "bar" }, title(name || say("in-call.title")), timer, captions),
      h(
        "div",
        { class: "body" },
        stage,
        // the orb shows them to those who see
        h("div", { class: "unseen" }, said.element, heard.element),
        notice,
        warning,
        again,
        transcript.element,
      ),
      h("div", { class: "foot" }, field, actions(microphone, hangUp)),
    ],
    update: (state) => {
      if (state.name !== "in-call") return
      muted = state.muted
      // of a time limit, a caller is only told
      warning.className = state.warning?.reason === "silence" ? "notice warning silence" : "notice"
      if (talk === undefined) {
        muting.lastChild?.replaceWith(say(muted ? "in-call.unmute" : "in-call.mute"))
        muting.classList.toggle("off", muted)
      } else talk.ariaPressed = String(!muted)
      writes = state.writing === true
      microphone.hidden = writes
      captions.hidden = writes
      field.hidden = !state.takesText
      const trouble = troubleOf(state)
      setText(notice, trouble && say(trouble))
      again.hidden = trouble !== "in-call.no-microphone"
    },
    tick: (state, now) => {
      if (state.name === "in-call") {
        // a chat needs no clock
        setText(timer, writes ? "" : clock(now - state.since))
        setText(warning, endWarning(state, say, now))
        quiet = spoke === 0 && transcript.isEmpty() && now - state.since > QUIET_AFTER
      }
      showMood()
      showCaptions()
    },
    level: (level) => {
      said.show(level.said)
      heard.show(level.heard)
      if (level.heard > VOICE) spoke = performance.now()
      levels.level(level)
    },
  }
}

/** A field for a caller who would rather write; shown where the agent takes text. */
const textField = ({ say, send }: Tools, transcript: Transcript): HTMLElement => {
  const field = document.createElement("input")
  // the longest text that the gate's platform takes
  field.maxLength = 2_000
  field.placeholder = field.ariaLabel = say("in-call.write")
  field.autocomplete = "off"
  field.enterKeyHint = "send"
  const button = h("button", { part: "button", "aria-label": say("in-call.send") }, sendIcon())
  const form = h("form", { class: "writing" }, field, button)
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    const text = field.value.trim()
    if (text === "" || !send(text)) return
    transcript.announce()
    field.value = ""
  })
  return form
}
