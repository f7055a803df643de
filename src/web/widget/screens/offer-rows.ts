/** What is offered to a caller instead of waiting, or of a call that is not possible now: a row for each. */
import type { Offer } from "../client/state.ts"
import { h } from "./dom.ts"
import { chatIcon, phoneIcon } from "./icons.ts"
import type { Tools } from "./parts.ts"

export const offerRows = ({ say, take }: Tools) => {
  const rows = h("ul", {})
  const element = h("div", { class: "offers", hidden: true }, h("p", { class: "small" }, say("offers.title")), rows)
  let shown: ReadonlyArray<Offer> = []
  const rowOf = (offer: Offer): HTMLElement => {
    const { kind, label, target } = offer
    const [link, button] = [kind === "link", kind === "campaign"]
    const row = h(
      button ? "button" : "a",
      {
        class: "way",
        part: button ? "button offer" : "offer",
        type: button && "button",
        href: !button && target,
        target: link && "_blank",
        rel: link && "noreferrer",
      },
      label,
    )
    row.prepend((link ? chatIcon : phoneIcon)())
    row.addEventListener("click", () => take(offer))
    return h("li", {}, row)
  }
  return {
    element,
    show: (offers: ReadonlyArray<Offer>): void => {
      // a row that has the focus stays
      if (offers === shown) return
      shown = offers
      rows.replaceChildren(...offers.map(rowOf))
      element.hidden = offers.length === 0
    },
  }
}
