/** The screen of a call: the orb and the levels, the transcript with a text field, and the buttons. */

import { clock } from "../words/first-words.ts"
import { silenceWarning, troubleOf } from "../words/visit-words.ts"
import { h, setText } from "./dom.ts"
import { captionsIcon, hangUpIcon, microphoneIcon } from "./icons.ts"
import { createMeter } from "./meter.ts"
import { createOrb } from "./orb.ts"
import { partsOf, type Screen, type Tools } from "./parts.ts"
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
  const { actions, button, text, title } = partsOf(tools)
  const timer = h("p", { class: "timer", role: "timer" })
  const notice = text("", "notice")
  const warning = text("", "silence")
  const mood = text("", "mood")
  const orb = createOrb()
  const muting = tools.pushToTalk() ? createTalkButton(tools) : button("in-call.mute", "mute")
  if (!tools.pushToTalk()) muting.prepend(microphoneIcon())
  const hangUp = button("in-call.hang-up", "leave", "strong")
  hangUp.prepend(hangUpIcon())
  const captions = button(
    "in-call.captions",
    () => {
      settings.captions = !settings.captions
      showCaptions()
    },
    "captions",
  )
  captions.replaceChildren(captionsIcon())
  captions.ariaLabel = say("in-call.captions")
  captions.title = captions.ariaLabel
  const [said, heard] = [createMeter(say("in-call.you")), createMeter(say("in-call.agent"))]
  const field = writing(tools, transcript)
  const again = button("try-again", "retry")
  let muted = false
  let spoke = 0
  /** whether nothing has come from the agent for too long, since the call began */
  let quiet = false

  const showMood = (): void => {
    // with a notice nobody listens: the line is dead, or the microphone is gone
    const now = muted || !notice.hidden ? "muted" : performance.now() - spoke < PAUSE ? "speaking" : "listening"
    orb.mood(now)
    setText(mood, notice.hidden ? say(`in-call.${quiet && now === "listening" ? "quiet" : now}`) : "")
  }
  const showCaptions = (): void => {
    captions.ariaPressed = String(settings.captions)
    transcript.element.hidden = !settings.captions || transcript.isEmpty()
  }
  return {
    nodes: [
      h("div", { class: "row" }, title(say("in-call.title")), timer),
      h("div", { class: "stage" }, orb.element, mood, captions),
      // the orb shows them to those who see
      h("div", { class: "unseen" }, said.element, heard.element),
      notice,
      warning,
      again,
      transcript.element,
      h("div", { class: "foot" }, field, actions(hangUp, muting)),
    ],
    update: (state) => {
      if (state.name !== "in-call") return
      muted = state.muted
      muting.ariaPressed = String(tools.pushToTalk() ? !muted : muted)
      field.hidden = !state.takesText
      const trouble = troubleOf(state)
      setText(notice, trouble && say(trouble))
      again.hidden = trouble !== "in-call.no-microphone"
      showCaptions()
      showMood()
    },
    tick: (state, now) => {
      if (state.name === "in-call") {
        setText(timer, clock(now - state.since))
        setText(warning, silenceWarning(state, say, now))
        quiet = spoke === 0 && transcript.isEmpty() && now - state.since > QUIET_AFTER
      }
      showMood()
      showCaptions()
    },
    level: (level) => {
      said.show(level.said)
      heard.show(level.heard)
      if (level.heard > VOICE) spoke = performance.now()
      orb.level(level)
    },
  }
}

/** A field for a caller who would rather write; shown where the agent takes text. */
const writing = ({ say, send }: Tools, transcript: Transcript): HTMLElement => {
  const field = document.createElement("input")
  // the longest text that the gate's platform takes
  field.maxLength = 2_000
  field.placeholder = say("in-call.write")
  field.ariaLabel = field.placeholder
  field.autocomplete = "off"
  field.enterKeyHint = "send"
  const form = h("form", { class: "writing" }, field, h("button", { part: "button" }, say("in-call.send")))
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    const text = field.value.trim()
    if (text === "" || !send(text)) return
    transcript.announce()
    field.value = ""
  })
  return form
}
