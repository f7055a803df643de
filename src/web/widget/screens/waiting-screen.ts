/** The screen of a caller who waits: the place, the expected wait, and other ways to wait. */

import type { Attention } from "../waiting/attention.ts"
import { notice as noticeOf } from "../words/first-words.ts"
import * as words from "../words/visit-words.ts"
import { h, setText } from "./dom.ts"
import { alertIcon, bellIcon, clockIcon, microphoneIcon, pauseIcon } from "./icons.ts"
import { offerRows } from "./offer-rows.ts"
import type { Parts, Screen, Tools } from "./parts.ts"

/** Shows a new text, which comes from below while the old one goes: what is read does not jump. */
const change = (element: HTMLElement, text: string): void => {
  const before = element.textContent
  setText(element, text)
  if (!before || before === text || matchMedia("(prefers-reduced-motion: reduce)").matches) return
  element.animate([{ opacity: 0, transform: "translateY(6px)" }, {}], { duration: 160, easing: "ease-out" })
}

export const waitingScreen = (
  tools: Tools,
  { actions, button, orb: newOrb, picture, text, title }: Parts,
  attention: Attention | undefined,
): Screen => {
  const { check, checks, language, say } = tools
  const offers = offerRows(tools)
  const orb = newOrb("small calm")
  const sign = picture(pauseIcon())
  const place = h("p", { class: "place" })
  const [ahead, estimate] = [h("span"), h("span", { class: "estimate" })]
  const [notice, link, notified] = [text("", "notice"), text("", "notice warning"), text("", "small")]
  const hint = text(say("waiting.hint"), "small")
  const notify = button("waiting.notify", () => void attention?.ask().then(offer), "way", bellIcon())
  const offer = (): void => {
    notify.hidden = attention?.notifying() !== "ask"
    setText(notified, attention?.notifying() === "yes" ? say("waiting.notified") : "")
  }
  const rows = h("div", { class: "ways" }, notify)
  if (checks()) rows.append(button("check.begin", () => check(true), "way", microphoneIcon()))
  return {
    rows,
    nodes: [
      orb,
      sign,
      title(say("waiting.title")),
      place,
      h("p", { class: "text" }, ahead, " ", estimate),
      notice,
      link,
      h("slot", { name: "waiting" }),
      rows,
      offers.element,
      notified,
      hint,
      actions(button("waiting.leave", "leave", "quiet")),
    ],
    update: (state) => {
      if (state.name !== "waiting") return
      const { disrupted, paused, pausedUntil, position, resumesAt } = state.place
      change(place, new Intl.NumberFormat(language()).format(position))
      setText(ahead, words.ahead(state.place, say))
      offers.show(state.place.offers)
      setText(link, state.link ? "" : say("waiting.link-lost"))
      setText(notice, noticeOf(state.notice, say))
      offer()
      // while nobody is called, nothing is about to happen
      orb.hidden = paused || disrupted
      sign.hidden = !orb.hidden
      sign.classList.toggle("bad", !paused)
      const icon = resumesAt && resumesAt === pausedUntil ? clockIcon : pauseIcon
      sign.replaceChildren((paused ? icon : alertIcon)())
      // a pause may last for days; a budget is waited for for an hour or so
      hint.hidden = paused && resumesAt === undefined
    },
    tick: (state, now) => {
      if (state.name === "waiting") change(estimate, words.estimate(state.place, say, language(), now))
    },
  }
}
