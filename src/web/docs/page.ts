/** What a page of the documents does besides being read: buttons that copy code, and a search over all pages. */
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

const place = document.querySelector("search")
if (place !== null) makeSearchField(place)
