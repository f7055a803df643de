/** What a page of the documents does besides being read: buttons that copy code, a search over all pages, open lists of links, and a way to sections that have moved. */
import { makeSearchField } from "./search-field.ts"

const COPIED_MILLIS = 2_000

const copyButton = (code: Element): HTMLButtonElement => {
  const button = document.createElement("button")
  button.type = "button"
  button.className = "copy"
  button.textContent = "Copy"
  // what the button says changes, and is read to those who do not see it
  button.setAttribute("aria-live", "polite")
  button.addEventListener("click", async () => {
    const copied = await navigator.clipboard.writeText(code.textContent ?? "").then(
      () => true,
      () => false,
    )
    button.textContent = copied ? "Copied" : "Select the text to copy it"
    setTimeout(() => {
      button.textContent = "Copy"
    }, COPIED_MILLIS)
  })
  return button
}

// without https, browsers have no clipboard
if (navigator.clipboard !== undefined)
  for (const code of document.querySelectorAll(".code code")) code.closest(".code")?.append(copyButton(code))

/** Where the lists of links stand beside the text (`page.css`). */
const wide = matchMedia("(min-width: 64rem)")

/** Opens the lists where they stand beside the text, so that what is shown counts as open; they may be longer than the window. */
const openLists = (): void => {
  const isBeside = wide.matches && CSS.supports("selector(::details-content)")
  for (const list of document.querySelectorAll<HTMLDetailsElement>("nav details")) list.open = isBeside
}
openLists()
wide.addEventListener("change", openLists)

/** Leads to the section that the address names, if it is on another page now. */
const followMoved = async (): Promise<void> => {
  const anchor = location.hash.slice(1)
  const page = document.querySelector<HTMLAnchorElement>(".documents a[aria-current]")
  if (anchor === "" || page === null || document.getElementById(anchor) !== null) return
  const { MOVED } = await import("./moved.ts")
  const target = MOVED.get(`${page.href.split("/").at(-1)}#${anchor}`)
  if (target !== undefined) location.replace(new URL(target, page.href))
}
void followMoved()
addEventListener("hashchange", () => void followMoved())

const place = document.querySelector("search")
if (place !== null) makeSearchField(place)
