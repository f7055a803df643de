/**
 * Shows a state: one panel at a time, its texts, the tab's title, and what a screen reader is told. What ticks (countdowns,
 * the call's timer, the meters) is redrawn by itself and never announced. Everything from outside is set as text.
 */
import { createMeter, type Meter } from "./meter.ts"
import type { State } from "./state.ts"
import * as words from "./words.ts"

export interface View {
  readonly show: (state: State) => void
  readonly message: (text: string) => void
  readonly said: Meter
  readonly heard: Meter
}

/** Messages of a call that stay on the page. */
const MOST_MESSAGES = 100
/** People drawn in the queue; more are a number. */
const MOST_DRAWN = 12
/** How often times on the page are redrawn, in milliseconds. */
const TICK = 250

const find = (selector: string): HTMLElement => {
  const element = document.querySelector<HTMLElement>(selector)
  if (element === null) throw new Error(`the page has no ${selector}`)
  return element
}

const setText = (name: string, value: string): void => {
  const element = find(`[data-text="${name}"]`)
  if (element.textContent !== value) element.textContent = value
  element.hidden = value === "" && element.getAttribute("role") === null
}

const setItems = (name: string, texts: ReadonlyArray<string>): void => {
  find(`[data-list="${name}"]`).replaceChildren(...texts.map(item))
}

const item = (text: string): HTMLElement => {
  const element = document.createElement("li")
  element.textContent = text
  return element
}

/** Calls `act` with the name of every action that is clicked. */
export const createView = (act: (action: string) => void): View => {
  let state: State = { name: "idle" }
  const said = createMeter(find('[data-meter="said"]'), find('[data-bar="said"]'))
  const heard = createMeter(find('[data-meter="heard"]'), find('[data-bar="heard"]'))
  const panels = [...document.querySelectorAll<HTMLElement>("[data-state]")]

  document.addEventListener("click", ({ target }) => {
    const button = target instanceof Element ? target.closest<HTMLElement>("[data-action]") : null
    const disabled = button?.getAttribute("aria-disabled") === "true"
    if (button?.dataset.action !== undefined && !disabled) act(button.dataset.action)
  })

  const show = (next: State): void => {
    const before = state
    state = next
    draw(state)
    tick()
    document.title = words.title(state)
    setText("announcement", words.announcement(state))
    if (before.name === state.name && panels.some((panel) => !panel.hidden)) return
    if (state.name === "in-call") setItems("messages", [])
    else for (const meter of [said, heard]) meter(0)
    // Somebody who works by keyboard goes on in the new panel, not at the top of the page.
    const hadFocus = panels.some((panel) => panel.contains(document.activeElement))
    for (const panel of panels) panel.hidden = panel.dataset.state !== state.name
    if (hadFocus) find(`[data-state="${state.name}"] h1`).focus()
  }

  const tick = (): void => drawTimes(state, Date.now())
  window.setInterval(tick, TICK)

  return {
    show,
    message: (text) => {
      const messages = find('[data-list="messages"]')
      messages.append(item(text))
      if (messages.children.length > MOST_MESSAGES) messages.firstElementChild?.remove()
      const scroller = find('[role="log"]')
      scroller.scrollTop = scroller.scrollHeight
    },
    said,
    heard,
  }
}

/** What changes with the state. */
const draw = (state: State): void => {
  switch (state.name) {
    case "no-microphone": {
      const [title, text] = words.noMicrophone(state.why)
      setText("microphone-title", title)
      setText("microphone-text", text)
      // Without a secure address there is no sound at all, a tone included.
      find('[data-show="microphone-tone"]').hidden = state.why === "insecure"
      return
    }
    case "connecting":
      setText("connecting-title", state.to === "gate" ? "Connecting" : "Connecting the call")
      return
    case "waiting":
      setText("place", String(state.place.position))
      setText("ahead", words.ahead(state.place))
      setText("estimate", words.estimate(state.place))
      setText("waiting-notice", state.notice ?? "")
      setText("link", state.link ? "Live" : "Connection lost. Connecting again; your place is kept for a short while.")
      find('[data-text="link"]').dataset.live = String(state.link)
      drawLine(state.place.position, Math.max(state.place.position, state.place.queueLength ?? 0))
      return
    case "called":
      setText("called-notice", state.notice ?? "")
      find('[data-show="called-tone"]').hidden = !state.offerTone
      find('[data-action="start"]').setAttribute("aria-disabled", String(state.starting))
      find('[data-action="start"]').textContent = state.starting ? "Starting" : "Start the call"
      return
    case "in-call":
      setText("said-label", state.source === "tone" ? "You (test tone)" : "You")
      find('[data-action="mute"]').setAttribute("aria-pressed", String(state.muted))
      return
    case "ended": {
      const [title, text] = words.ended(state)
      setText("ended-title", title)
      setText("ended-text", text)
      setText("ended-lasted", state.lasted === undefined ? "" : `The call lasted ${words.clock(state.lasted)}.`)
      return
    }
    case "refused":
      setText("refused-title", words.refused(state.code))
      setText("refused-text", state.message)
      setItems("issues", state.issues)
  }
}

/** What changes with the time. */
const drawTimes = (state: State, now: number): void => {
  if (state.name === "in-call") setText("timer", words.clock(now - state.since))
  if (state.name === "offline") setText("offline-retry", words.countdown(state.retryAt - now))
  if (state.name === "called" && !Number.isNaN(state.startBefore)) {
    const left = state.startBefore - now
    setText("countdown", words.countdown(left))
    const share = Math.max(0, Math.min(1, left / (state.startBefore - state.since)))
    find('[data-bar="remaining"]').style.transform = `scaleX(${share})`
  }
  if (state.name === "refused") {
    const left = (state.retryAt ?? 0) - now
    const when = left > 3_600_000 ? `in ${words.span(left / 1_000)}` : `in ${words.countdown(left)}`
    const text = left > 0 ? `You can try again ${when}.` : "You can try again now."
    setText("refused-retry", state.retryAt === undefined ? "" : text)
    find('[data-wait="refused"]').setAttribute("aria-disabled", String(left > 0))
  }
}

/** One mark for each who waits: those ahead are filled, this visitor's is the accent's, those behind are hollow. */
const drawLine = (position: number, length: number): void => {
  const first = Math.max(1, Math.min(position - MOST_DRAWN + 2, length - MOST_DRAWN + 1))
  const last = Math.min(length, first + MOST_DRAWN - 1)
  const marks: Array<HTMLElement> = []
  if (first > 1) marks.push(item(`+${first - 1}`))
  for (let place = first; place <= last; place++) {
    const mark = item("")
    mark.className = place < position ? "ahead" : place === position ? "you" : "behind"
    marks.push(mark)
  }
  if (last < length) marks.push(item(`+${length - last}`))
  find('[data-list="line"]').replaceChildren(...marks)
}
