/**
 * The orb: a sphere that stands for the agent, with the agent's picture in it where the page has one. It is drawn by the style, so that at
 * rest it breathes without a script; `--said` and `--heard` move it in a call.
 */
import { h } from "./dom.ts"

/** Shows the picture at an address; none if that is empty. */
export const showPicture = (orb: HTMLElement, address: string): void => {
  if (orb.dataset.picture === address) return
  orb.dataset.picture = address
  orb.lastElementChild?.replaceChildren(...(address ? [h("img", { src: address, alt: "" })] : []))
}

/**
 * @param kind a class of the style, such as `small`
 * @param place where the picture is: one that the page may put there, where there is nothing else
 */
export const createOrb = (kind: string, address: string, place = h("slot", { name: "avatar" })): HTMLElement => {
  const orb = h("span", { class: `orb ${kind}`, part: "orb", "aria-hidden": "true" }, h("i"), place)
  showPicture(orb, address)
  return orb
}
