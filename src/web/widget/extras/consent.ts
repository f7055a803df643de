/**
 * What a visitor agrees to before a call: the page's own text, with a link to its privacy policy. It is remembered in this browser if the
 * page says so, until the text or the link changes.
 */
import { h } from "../screens/dom.ts"
import { nothing, partsOf, type Screen, type Tools } from "../screens/parts.ts"

const PREFIX = "voicegate.consent."

export interface Consent {
  readonly text: () => string
  /** Whether the visitor has to be asked. */
  readonly isNeeded: () => boolean
  /** The visitor has agreed. */
  readonly keep: () => void
  readonly screen: (tools: Tools, agree: () => void) => Screen
}

export const createConsent = (element: HTMLElement): Consent => {
  const attribute = (name: string): string => element.getAttribute(name) ?? ""
  const text = (): string => attribute("consent").trim()
  const remembers = (): boolean => element.hasAttribute("consent-remember")
  const key = (): string => PREFIX + element.id
  const asked = (): string => `${text()}\n${attribute("consent-link")}`
  const isKept = (): boolean => {
    try {
      return remembers() && localStorage.getItem(key()) === asked()
    } catch {
      // Storage is disabled: the visitor is asked each time.
      return false
    }
  }
  return {
    text,
    isNeeded: () => element.hasAttribute("consent") && !isKept(),
    keep: () => {
      try {
        if (remembers()) localStorage.setItem(key(), asked())
      } catch {
        // as above
      }
    },
    screen: (tools, agree) => {
      const { actions, button, title } = partsOf(tools)
      const link = linkTo(attribute("consent-link"), tools.say("consent.policy"))
      // the text is in the page's language, whichever the widget's is
      const lang = element.closest<HTMLElement>("[lang]")?.lang ?? ""
      return {
        nodes: [
          title(tools.say("consent.title")),
          h("p", { class: "consent", dir: "auto", ...(lang === "" ? {} : { lang }) }, text()),
          ...link,
          actions(button("consent.agree", agree, "primary"), button("cancel", "leave")),
        ],
        update: nothing,
        tick: nothing,
      }
    },
  }
}

/** A link that opens beside the page; none without an address of the web. */
const linkTo = (address: string, name: string): ReadonlyArray<HTMLElement> => {
  if (address === "" || !URL.canParse(address, document.baseURI)) return []
  const { href, protocol } = new URL(address, document.baseURI)
  if (protocol !== "https:" && protocol !== "http:") return []
  return [h("a", { class: "small", href, target: "_blank", rel: "noopener" }, name)]
}
