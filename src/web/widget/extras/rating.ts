/** What a visitor thinks of a call: one to five stars, given once. It goes to the page only, never to the gate. */
import { h, setText } from "../screens/dom.ts"
import { starIcon } from "../screens/icons.ts"
import { partsOf, type Tools } from "../screens/parts.ts"

/** The detail of the event `rating`. */
export interface Rating {
  /** 1 to 5 */
  readonly rating: number
  /** how long the call lasted, in milliseconds */
  readonly lasted: number
}

const STARS = [1, 2, 3, 4, 5]

/**
 * The question and its stars.
 *
 * @param given what was given before the screen was drawn again
 */
export const createRating = (tools: Tools, given: number | undefined, rated: (stars: number) => void): HTMLElement => {
  const { say } = tools
  const { button } = partsOf(tools)
  const thanks = h("p", { class: "small", role: "status" })
  const stars = STARS.map((n) => {
    const star = button("", () => choose(n), "star")
    star.ariaLabel = say("rating.value", { n })
    star.replaceChildren(starIcon())
    return star
  })
  const show = (chosen: number): void => {
    for (const [index, star] of stars.entries()) {
      star.classList.toggle("given", index < chosen)
      star.ariaPressed = String(index === chosen - 1)
      star.ariaDisabled = "true"
    }
    setText(thanks, say("rating.thanks"))
  }
  const choose = (chosen: number): void => {
    show(chosen)
    rated(chosen)
  }
  setText(thanks, "")
  if (given !== undefined) show(given)
  const question = say("rating.question")
  const row = h("div", { class: "stars", role: "group", "aria-label": question }, ...stars)
  return h("div", { class: "rating", part: "rating" }, h("p", {}, question), row, thanks)
}
