/**
 * Continues on another device: a link to this page with the ticket in its fragment, which browsers send to no server. Who has the link
 * has the place: the ticket is its only credential.
 */
import { h, setText } from "./dom.ts"
import { copyIcon } from "./icons.ts"
import { nothing, partsOf, type Screen, type Tools } from "./parts.ts"

/** `key` tells several widgets of a page apart, as `VoiceAgentOptions.key` does. */
export const linkOf = (ticket: string, key: string): string => {
  const url = new URL(location.href)
  url.hash = `voicegate=${encodeURIComponent(key)}.${encodeURIComponent(ticket)}`
  return url.href
}

const LINK = /^#voicegate=([^.]*)\.(.+)$/

/** The ticket in the page's address, if it is for this widget; it is removed from the address. */
export const takeFromAddress = (key: string): string | undefined => {
  const [, forKey = "", ticket] = LINK.exec(location.hash) ?? []
  if (ticket === undefined) return undefined
  try {
    if (decodeURIComponent(forKey) !== key) return undefined
    history.replaceState(history.state, "", location.pathname + location.search)
    return decodeURIComponent(ticket)
  } catch {
    // somebody wrote that address by hand
    return undefined
  }
}

/** A button that shows the link, with another one that copies it. `link` is asked when the visitor wants it. */
export const createOffer = (tools: Tools, link: () => string): HTMLElement => {
  const { say } = tools
  const { button } = partsOf(tools)
  const field = document.createElement("input")
  field.readOnly = true
  field.dir = "ltr"
  field.ariaLabel = say("handoff.offer")
  field.addEventListener("focus", () => field.select())
  const done = h("span", { class: "small", role: "status" })
  const copy = button("handoff.copy", () => {
    const report = (key: string) => (): void => setText(done, say(key))
    navigator.clipboard.writeText(field.value).then(report("ended.copied"), report("ended.not-copied"))
  })
  copy.prepend(copyIcon())
  copy.hidden = !("clipboard" in navigator)
  setText(done, "")
  const shown = h("div", { class: "handoff" }, h("p", { class: "small" }, say("handoff.text")), field, copy, done)
  shown.hidden = true
  const open = button(
    "handoff.offer",
    () => {
      shown.hidden = !shown.hidden
      open.ariaExpanded = String(!shown.hidden)
      if (shown.hidden) return
      field.value = link()
      field.focus()
    },
    "plain",
  )
  open.ariaExpanded = "false"
  return h("div", {}, open, shown)
}

/** The first screen of a page that was opened with such a link. */
export const handoffScreen = (tools: Tools): Screen => {
  const { actions, button, text, title } = partsOf(tools)
  const { say } = tools
  return {
    nodes: [
      title(say("handoff.title")),
      text(say("handoff.take")),
      actions(button("handoff.title", "begin", "primary")),
      text(say("idle.hint"), "small"),
    ],
    update: nothing,
    tick: nothing,
  }
}
