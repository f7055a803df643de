/**
 * The search field of a page, as a combobox with a list (WAI-ARIA Authoring Practices, “Editable Combobox With List Autocomplete”): arrows
 * choose, Enter opens, Escape closes, and `/` leads to the field from anywhere. A key that is pressed while the search is under way is done
 * when it has found something.
 */
import type { Found } from "./find.ts"

const element = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>>,
  ...children: ReadonlyArray<Node | string>
): HTMLElementTagNameMap[Name] => {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value)
  made.append(...children)
  return made
}

const optionOf = ({ excerpt, heading, href, title }: Found, index: number): HTMLElement => {
  const marked = excerpt.map(([text, found]) => (found ? element("mark", {}, text) : text))
  return element(
    "a",
    { role: "option", id: `result-${index}`, "aria-selected": "false", href, tabindex: "-1" },
    element("strong", {}, heading),
    ...(heading === title ? [] : [element("span", { class: "of" }, title)]),
    element("span", { class: "excerpt" }, ...marked),
  )
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && /^(input|textarea|select)$/i.test(target.tagName)

export const makeSearchField = (place: HTMLElement): void => {
  const list = element("div", { role: "listbox", id: "results", "aria-label": "Sections found" })
  const status = element("p", { role: "status" })
  const panel = element("div", { class: "results" }, status, list)
  const input = element("input", {
    type: "search",
    role: "combobox",
    "aria-label": "Search the documents",
    "aria-autocomplete": "list",
    "aria-controls": "results",
    "aria-expanded": "false",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Search",
  })
  const key = element("kbd", { "aria-hidden": "true" }, "/")
  panel.hidden = true
  place.append(input, key, panel)

  const options = (): ReadonlyArray<HTMLElement> => [...list.children].filter((each) => each instanceof HTMLElement)
  const chosen = (): number => options().findIndex((option) => option.getAttribute("aria-selected") === "true")
  const choose = (index: number): void => {
    for (const [at, option] of options().entries()) option.setAttribute("aria-selected", String(at === index))
    const option = options()[index]
    if (option === undefined) input.removeAttribute("aria-activedescendant")
    else {
      input.setAttribute("aria-activedescendant", option.id)
      option.scrollIntoView({ block: "nearest" })
    }
  }
  let asked = 0
  const show = (open: boolean): void => {
    panel.hidden = !open
    input.setAttribute("aria-expanded", String(open && list.childElementCount > 0))
    if (open) return
    choose(-1)
    // a search that is under way shows nothing any more
    asked++
  }

  const find = async (): Promise<void> => {
    const query = input.value.trim()
    const request = ++asked
    if (query === "") {
      list.replaceChildren()
      show(false)
      return
    }
    const found = await import("./search.ts").then(({ search }) => search(query)).catch(() => undefined)
    // the reader has typed more meanwhile
    if (request !== asked) return
    list.replaceChildren(...(found ?? []).map(optionOf))
    status.textContent =
      found === undefined
        ? "The search could not be loaded. Type again to try again."
        : found.length === 0
          ? `Nothing found for “${query}”`
          : `${found.length} ${found.length === 1 ? "section" : "sections"}`
    show(true)
    choose(found !== undefined && found.length > 0 ? 0 : -1)
  }
  let finding = Promise.resolve()
  const findNow = (): void => {
    finding = find()
  }
  /** Does this with what the search that is under way finds, unless the reader types on. */
  const whenFound = async (does: () => void): Promise<void> => {
    const request = asked
    await finding
    if (request === asked) does()
  }
  const move = (key: string): void => {
    const count = options().length
    if (count > 0) choose((chosen() + (key === "ArrowDown" ? 1 : count - 1)) % count)
  }

  input.addEventListener("input", findNow)
  input.addEventListener("focus", () => {
    // so that the first letter finds at once
    import("./search.ts").then(({ search }) => search("")).catch(() => undefined)
    if (input.value.trim() !== "") findNow()
  })
  input.addEventListener("keydown", (event) => {
    const { isComposing, key } = event
    if (isComposing) return
    if (key === "Escape") {
      if (panel.hidden) input.blur()
      show(false)
      event.preventDefault()
    } else if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault()
      // a list that was closed opens again
      void whenFound(() => (panel.hidden ? findNow() : move(key)))
    } else if (key === "Enter") {
      void whenFound(() => options()[chosen()]?.click())
    }
  })
  // a section of this page is shown without loading it again
  list.addEventListener("click", () => {
    show(false)
    input.blur()
  })
  place.addEventListener("focusout", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node && place.contains(relatedTarget))) show(false)
  })
  // a click on a result must not take the focus first, or the list would close under it
  panel.addEventListener("mousedown", (event) => event.preventDefault())
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    event.preventDefault()
    input.focus()
    input.select()
  })
}
