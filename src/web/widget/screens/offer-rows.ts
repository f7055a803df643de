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
    const row =
      kind === "campaign"
        ? h("button", { type: "button", class: "way", part: "button offer" }, label)
        : h(
            "a",
            {
              href: target,
              class: "way",
              part: "offer",
              ...(kind === "link" ? { target: "_blank", rel: "noreferrer" } : {}),
            },
            label,
          )
    row.prepend((kind === "link" ? chatIcon : phoneIcon)())
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
