/**
 * Continues on another device: a link to this page with the ticket in its fragment, which browsers send to no server. Who has the link
 * has the place: the ticket is its only credential.
 */
import { h, setText } from "../screens/dom.ts"
import { copyIcon, devicesIcon, phoneIcon } from "../screens/icons.ts"
import { nothing, partsOf, type Screen, type Tools } from "../screens/parts.ts"
import { drawQrCode } from "./draw-qr-code.ts"
import { readLink } from "./handoff-link.ts"

/** The ticket in the page's address, if it is for this widget; it is removed from the address. */
export const takeFromAddress = (key: string): string | undefined => {
  const link = readLink(location.href, key)
  if (link !== undefined) history.replaceState(history.state, "", link.page)
  return link?.ticket
}

const PREFIX = "voicegate.shared."
const shared = new Set<string>()

/** Notes that another device may have this ticket too; also over a reload, where the page may use session storage. */
export const share = (ticket: string): void => {
  shared.add(ticket)
  try {
    sessionStorage.setItem(PREFIX + ticket, "")
  } catch {
    // Storage is disabled: so is resuming after a reload.
  }
}

export const isShared = (ticket: string): boolean => {
  try {
    return shared.has(ticket) || sessionStorage.getItem(PREFIX + ticket) !== null
  } catch {
    return false
  }
}

/** A button, and below it the link as a code and as text, with a button that copies it. `link` is called when the visitor opens it. */
export const createOffer = (tools: Tools, link: () => string): ReadonlyArray<HTMLElement> => {
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
  const code = h("div", { class: "code" })
  const shown = h("div", { class: "handoff" }, code, h("p", { class: "small" }, say("handoff.text")), field, copy, done)
  shown.hidden = true
  const open = button(
    "handoff.offer",
    () => {
      shown.hidden = !shown.hidden
      open.ariaExpanded = String(!shown.hidden)
      if (shown.hidden) return
      field.value = link()
      code.replaceChildren(...[drawQrCode(field.value, say("handoff.offer"))].filter((each) => each !== undefined))
      field.focus()
    },
    "way",
    devicesIcon(),
  )
  open.ariaExpanded = "false"
  return [open, shown]
}

/** The first screen of a page that was opened with such a link. */
export const handoffScreen = (tools: Tools): Screen => {
  const { actions, button, picture, text, title } = partsOf(tools)
  const { say } = tools
  return {
    nodes: [
      picture(devicesIcon()),
      title(say("handoff.title")),
      text(say("handoff.take")),
      actions(button("handoff.title", "begin", "primary", phoneIcon())),
    ],
    update: nothing,
    tick: nothing,
  }
}
