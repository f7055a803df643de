/**
 * The widget's screens, one for each state: elements are created when the state is entered, and updated with the state and the time.
 * Untrusted content is only set as text.
 */
import { h, setText } from "./dom.ts"
import { createMeter, type Meter } from "./meter.ts"
import type { VoiceAgentState } from "./state.ts"
import type { Say } from "./strings.ts"
import * as words from "./words.ts"

export type Action = "begin" | "start" | "leave" | "mute" | "retry" | "notify"

export interface Screen {
  readonly nodes: ReadonlyArray<Node>
  /** Updates the elements for a new state of the same name. */
  readonly update: (state: VoiceAgentState) => void
  readonly tick: (state: VoiceAgentState, now: number) => void
  readonly said?: Meter
  readonly heard?: Meter
  readonly message?: (text: string) => void
}

export interface Tools {
  readonly say: Say
  readonly language: () => string
  readonly act: (action: Action) => void
  /** whether the permission for notifications can be requested or is granted */
  readonly notifying: () => "ask" | "yes" | "no"
}

/** Maximum messages of a call that stay on the page. */
const MAX_MESSAGES = 100
/** Maximum callers drawn in the queue; the others are shown as a number. */
const MAX_DRAWN = 10

const nothing = (): void => {}

export const createScreen = (name: VoiceAgentState["name"], tools: Tools): Screen => {
  const { act, say } = tools
  const title = (text = ""): HTMLElement => h("h2", { tabindex: -1, part: "title" }, text)
  const text = (content = "", kind = "text"): HTMLElement => h("p", { class: kind }, content)
  const button = (key: string, action: Action, kind = ""): HTMLElement => {
    const element = h("button", { type: "button", class: kind, part: `button ${kind}`.trim() }, say(key))
    element.addEventListener("click", () => {
      if (element.ariaDisabled !== "true") act(action)
    })
    return element
  }
  const actions = (...buttons: ReadonlyArray<HTMLElement>): HTMLElement => h("div", { class: "actions" }, ...buttons)

  switch (name) {
    case "idle": {
      const notice = text("", "notice")
      return {
        nodes: [
          title(say("idle.title")),
          text(say("idle.text")),
          notice,
          h("slot"),
          actions(button("idle.begin", "begin", "primary")),
          text(say("idle.hint"), "small"),
        ],
        update: (state) => {
          if (state.name === name) setText(notice, words.notice(state.notice, say))
        },
        tick: nothing,
      }
    }
    case "checking-microphone":
      return {
        nodes: [
          title(say("microphone.title")),
          text(say("microphone.text")),
          h("div", { class: "indeterminate" }),
          actions(button("cancel", "leave")),
        ],
        update: nothing,
        tick: nothing,
      }
    case "no-microphone": {
      const [heading, body] = [title(), text()]
      return {
        nodes: [heading, body, actions(button("try-again", "begin", "primary"), button("cancel", "leave"))],
        update: (state) => {
          if (state.name !== name) return
          const [what, why] = words.noMicrophone(state, say)
          setText(heading, what)
          setText(body, why)
        },
        tick: nothing,
      }
    }
    case "connecting": {
      const heading = title()
      return {
        nodes: [heading, h("div", { class: "indeterminate" }), actions(button("cancel", "leave"))],
        update: (state) => {
          if (state.name === name) setText(heading, say(`connecting.${state.to}`))
        },
        tick: nothing,
      }
    }
    case "waiting":
      return waiting(tools, { title, text, button, actions })
    case "your-turn": {
      const start = button("your-turn.start", "start", "primary")
      const bar = h("div", { class: "bar" })
      const [body, notice] = [h("p", { class: "text", role: "timer" }), text("", "notice")]
      return {
        nodes: [
          h("div", { class: "turn" }, title(say("your-turn.title")), body, h("div", { class: "track" }, bar)),
          notice,
          actions(start, button("your-turn.leave", "leave", "quiet")),
        ],
        update: (state) => {
          if (state.name !== name) return
          setText(notice, words.notice(state.notice, say))
          setText(start, say(state.starting ? "your-turn.starting" : "your-turn.start"))
          start.ariaDisabled = String(state.starting)
        },
        tick: (state, now) => {
          if (state.name !== name) return
          const left = state.startBefore - now
          const known = !Number.isNaN(left)
          setText(body, known ? say("your-turn.text", { time: words.countdown(left) }) : say("your-turn.no-limit"))
          const share = known ? Math.max(0, Math.min(1, left / (state.startBefore - state.since))) : 1
          bar.style.setProperty("--level", String(share))
        },
      }
    }
    case "in-call": {
      const timer = h("p", { class: "timer", role: "timer" })
      const notice = text("", "notice")
      const mute = button("in-call.mute", "mute")
      const meter = (key: string): HTMLElement =>
        h("div", {
          class: "meter",
          role: "meter",
          "aria-label": say(key),
          "aria-valuemin": 0,
          "aria-valuemax": 1,
          "aria-valuenow": 0,
        })
      const label = (key: string): HTMLElement => h("span", { "aria-hidden": "true" }, say(key))
      const [said, heard] = [meter("in-call.you"), meter("in-call.agent")]
      const list = h("ol")
      const messages = h(
        "div",
        { class: "messages", part: "messages", tabindex: 0, role: "log", "aria-live": "off" },
        list,
      )
      messages.ariaLabel = say("in-call.messages")
      messages.hidden = true
      return {
        nodes: [
          h("div", { class: "row" }, title(say("in-call.title")), timer),
          h("div", { class: "meters" }, label("in-call.you"), said, label("in-call.agent"), heard),
          notice,
          actions(button("in-call.hang-up", "leave", "strong"), mute),
          messages,
        ],
        update: (state) => {
          if (state.name !== name) return
          mute.ariaPressed = String(state.muted)
          setText(
            notice,
            state.microphone ? (state.link ? "" : say("in-call.link-lost")) : say("in-call.no-microphone"),
          )
        },
        tick: (state, now) => {
          if (state.name === name) setText(timer, words.clock(now - state.since))
        },
        said: createMeter(said),
        heard: createMeter(heard),
        message: (content) => {
          messages.hidden = false
          list.append(h("li", {}, content))
          if (list.children.length > MAX_MESSAGES) list.firstElementChild?.remove()
          messages.scrollTop = messages.scrollHeight
        },
      }
    }
    case "ended": {
      const [heading, body, lasted] = [title(), text(), text("", "small")]
      return {
        nodes: [heading, body, lasted, actions(button("ended.again", "begin", "primary"))],
        update: (state) => {
          if (state.name !== name) return
          const [what, why] = words.ended(state, say)
          setText(heading, what)
          setText(body, why)
          setText(lasted, state.lasted === undefined ? "" : say("ended.lasted", { time: words.clock(state.lasted) }))
        },
        tick: nothing,
      }
    }
    case "refused": {
      const [heading, body, when, issues] = [title(), text(), text("", "small"), h("ul", { class: "issues" })]
      const again = button("try-again", "begin", "primary")
      return {
        nodes: [heading, body, issues, when, actions(again)],
        update: (state) => {
          if (state.name !== name) return
          const [what, why] = words.refused(state, say)
          setText(heading, what)
          // The list of issues replaces the text.
          setText(body, state.issues.length > 0 ? "" : why)
          issues.replaceChildren(...state.issues.map((issue) => h("li", {}, issue)))
          issues.hidden = state.issues.length === 0
        },
        tick: (state, now) => {
          if (state.name !== name) return
          const left = (state.retryAt ?? 0) - now
          const time = left > 3_600_000 ? words.span(left / 1_000, tools.language()) : words.countdown(left)
          const retry = left > 0 ? say("refused.retry-in", { time }) : say("refused.retry-now")
          setText(when, state.retryAt === undefined ? "" : retry)
          again.ariaDisabled = String(left > 0)
        },
      }
    }
    case "offline": {
      const body = text()
      return {
        nodes: [
          title(say("offline.title")),
          body,
          actions(button("offline.retry", "retry", "primary"), button("cancel", "leave")),
        ],
        update: nothing,
        tick: (state, now) => {
          if (state.name === name) setText(body, say("offline.text", { time: words.countdown(state.retryAt - now) }))
        },
      }
    }
  }
}

interface Parts {
  readonly title: (text?: string) => HTMLElement
  readonly text: (content?: string, kind?: string) => HTMLElement
  readonly button: (key: string, action: Action, kind?: string) => HTMLElement
  readonly actions: (...buttons: ReadonlyArray<HTMLElement>) => HTMLElement
}

const waiting = ({ language, notifying, say }: Tools, { actions, button, text, title }: Parts): Screen => {
  const place = h("p", { class: "place" })
  const line = h("ol", { class: "line", "aria-hidden": "true" })
  const [ahead, estimate] = [h("span"), h("span")]
  const [notice, link, notified] = [text("", "notice"), text("", "small link"), text("", "small")]
  const notify = button("waiting.notify", "notify")
  return {
    nodes: [
      title(say("waiting.title")),
      h("div", { class: "row" }, place, link),
      line,
      h("p", { class: "text" }, ahead, " ", estimate),
      notice,
      actions(button("waiting.leave", "leave"), notify),
      notified,
      text(say("waiting.hint"), "small"),
    ],
    update: (state) => {
      if (state.name !== "waiting") return
      setText(place, new Intl.NumberFormat(language()).format(state.place.position))
      setText(ahead, words.ahead(state.place, say))
      setText(estimate, words.estimate(state.place, say, language()))
      setText(link, say(state.link ? "waiting.live" : "waiting.link-lost"))
      link.classList.toggle("live", state.link)
      setText(notice, words.notice(state.notice, say))
      notify.hidden = notifying() !== "ask"
      setText(notified, notifying() === "yes" ? say("waiting.notified") : "")
      line.replaceChildren(...marks(state.place.position, Math.max(state.place.position, state.place.queueLength ?? 0)))
    },
    tick: nothing,
  }
}

/** One mark for each waiting caller: filled for those ahead, in the accent colour for this one, hollow for those behind. */
const marks = (position: number, length: number): ReadonlyArray<HTMLElement> => {
  const first = Math.max(1, Math.min(position - MAX_DRAWN + 2, length - MAX_DRAWN + 1))
  const last = Math.min(length, first + MAX_DRAWN - 1)
  const drawn: Array<HTMLElement> = []
  if (first > 1) drawn.push(h("li", {}, `+${first - 1}`))
  for (let place = first; place <= last; place++) {
    drawn.push(h("li", { class: place < position ? "ahead" : place === position ? "you" : "behind" }))
  }
  if (last < length) drawn.push(h("li", {}, `+${length - last}`))
  return drawn
}
