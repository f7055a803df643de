/** The screen of a caller who waits: the place, the queue as a row of marks, and the expected wait. */

import { notice as noticeOf } from "../words/first-words.ts"
import * as words from "../words/visit-words.ts"
import { h, setText } from "./dom.ts"
import { offerRows } from "./offer-rows.ts"
import type { Parts, Screen, Tools } from "./parts.ts"

/** Maximum callers drawn in the queue; the others are shown as a number. */
const MAX_DRAWN = 10

export const waitingScreen = (tools: Tools, { actions, button, text, title }: Parts): Screen => {
  const { check, checks, language, notifying, say } = tools
  const offers = offerRows(tools)
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
      offers.element,
      h("slot", { name: "waiting" }),
      text(say("waiting.hint"), "small"),
      ...(checks() ? [button("check.begin", () => check(true), "plain")] : []),
    ],
    update: (state) => {
      if (state.name !== "waiting") return
      setText(place, new Intl.NumberFormat(language()).format(state.place.position))
      setText(ahead, words.ahead(state.place, say))
      offers.show(state.place.offers)
      setText(link, say(state.link ? "waiting.live" : "waiting.link-lost"))
      link.classList.toggle("live", state.link)
      setText(notice, noticeOf(state.notice, say))
      notify.hidden = notifying() !== "ask"
      setText(notified, notifying() === "yes" ? say("waiting.notified") : "")
      line.replaceChildren(...marks(state.place.position, Math.max(state.place.position, state.place.queueLength ?? 0)))
    },
    tick: (state, now) => {
      if (state.name === "waiting") setText(estimate, words.estimate(state.place, say, language(), now))
    },
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
