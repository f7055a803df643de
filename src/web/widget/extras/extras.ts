/**
 * `extras.js`: what a page switches on by an attribute. Loaded with the other parts of a visit where there is one of these attributes:
 * consent before a call, a rating after it, picture-in-picture, and continuing on another device. It extends the other parts.
 */

import type { VoiceAgentOptions } from "../client/options.ts"
import type { VoiceAgentState } from "../client/state.ts"
import { windowIcon } from "../screens/icons.ts"
import { partsOf, type Screen, type Tools } from "../screens/parts.ts"
import type { createScreens as Screens } from "../screens/screens.ts"
import type { openVisit as OpenVisit } from "../visit/visit.ts"
import { withStrings } from "../words/more-strings.ts"
import { createConsent } from "./consent.ts"
import { extraStrings } from "./extra-strings.ts"
import css from "./extras.css?inline"
import { createOffer, handoffScreen, isShared, share, takeFromAddress } from "./handoff.ts"
import { linkOf, readLink } from "./handoff-link.ts"
import { canFloat, type Float, openFloat } from "./picture-in-picture.ts"
import { createRating } from "./rating.ts"

export interface Parts {
  readonly visit: { readonly openVisit: typeof OpenVisit }
  readonly screens: { readonly createScreens: typeof Screens }
}

/** The element that is extended. */
interface Host extends HTMLElement {
  readonly agent: { readonly state: VoiceAgentState }
}

const extended = new WeakMap<HTMLElement, Parts>()

/** The parts of an element's visits with what its attributes switch on; the same each time. */
export const extend = (element: Host, { key = "" }: VoiceAgentOptions, parts: Parts): Parts => {
  const known = extended.get(element) ?? createExtras(element, key, parts)
  extended.set(element, known)
  return known
}

/** The states without a visit. */
const RESTING: ReadonlyArray<VoiceAgentState["name"]> = ["idle", "no-microphone", "ended", "refused"]

const createExtras = (element: Host, key: string, { screens, visit }: Parts): Parts => {
  const consent = createConsent(element)
  const has = (name: string): boolean => element.hasAttribute(name)
  /** the ticket of another device, with which the next visit waits */
  let foreign: string | undefined
  /** A link was opened, and nothing has happened since. */
  let isOffered = false
  /** The screen of the state has not been created yet. */
  let isNew = false
  let ticket: string | undefined
  let rating: number | undefined
  let agree = (): void => {}
  let float: Float | undefined
  /** The window is open, or opens. */
  let floats = false
  let floatButton: HTMLElement | undefined
  let state: VoiceAgentState = { name: "idle", notice: undefined }

  const showFloats = (on: boolean): void => {
    floats = on
    // the button of the screen that is shown now, which may be a later one
    if (floatButton !== undefined) floatButton.hidden = on
  }

  /** Takes the ticket of a link. During a visit, a link stays in the address unless it has the visit's own ticket. */
  const takeLink = (): void => {
    if (!has("handoff")) return
    const given = readLink(location.href, key)?.ticket
    if (given === undefined || (given !== ticket && !RESTING.includes(element.agent.state.name))) return
    takeFromAddress(key)
    if (given === ticket) return
    foreign = given
    isOffered = true
  }

  const noteState = (next: VoiceAgentState): void => {
    isNew = next.name !== state.name
    isOffered = false
    state = next
    if (next.name === "connecting") rating = undefined
    if (next.name === "waiting" || next.name === "ended") foreign = undefined
  }

  element.addEventListener("statechange", () => float?.show(element.agent.state))

  const openVisit = (options: VoiceAgentOptions, visitor: Parameters<typeof OpenVisit>[1]) => {
    let hasAgreed = false
    ticket = undefined
    const show = (next: VoiceAgentState): void => {
      noteState(next)
      visitor.show(next)
    }
    const agreed = async (): Promise<void> => {
      if (!hasAgreed && consent.isNeeded()) {
        await new Promise<void>((resolve) => {
          agree = resolve
          show({ name: "consent" })
        })
        hasAgreed = true
        consent.keep()
      }
      // a page that asks for no consent shows it since the visitor's gesture
      const tell = options.consent ? show : noteState
      if (!options.writing) tell({ name: "checking-microphone" })
    }
    return visit.openVisit(options, {
      ...visitor,
      show,
      extras: {
        agreed,
        takes: () => foreign,
        holds: (held) => {
          ticket = held
          if (held === foreign) share(held)
        },
        shares: isShared,
      },
    })
  }

  const createScreens = (given: Tools): ReturnType<typeof Screens> => {
    const tools = withStrings(given, extraStrings)
    const base = screens.createScreens(tools)
    return {
      ...base,
      css: base.css + css,
      create: (name) => {
        if (name === "consent") return consent.screen(tools, () => agree())
        // the end of a visit is shown first; only a link that is opened after that replaces it
        if (name === "idle" || !isNew) takeLink()
        isNew = false
        if (foreign !== undefined && (name === "idle" || (isOffered && RESTING.includes(name))))
          return handoffScreen(tools)
        const screen = base.create(name)
        if (screen === undefined) return undefined
        if (name === "waiting") screen.rows?.prepend(...whileWaiting(tools))
        return name === "ended" ? afterCall(screen, tools) : screen
      },
      announcement: (next, before) =>
        next.name === "consent" ? `${tools.say("consent.title")}. ${consent.text()}` : base.announcement(next, before),
    }
  }

  const whileWaiting = (tools: Tools): ReadonlyArray<Node> => {
    const { button } = partsOf(tools)
    const nodes: Array<Node> = []
    const openWindow = (): void => {
      const dock = element.shadowRoot?.querySelector<HTMLElement>(".dock")
      if (dock === null || dock === undefined || floats) return
      showFloats(true)
      const closed = (): void => {
        float = undefined
        showFloats(false)
      }
      void openFloat(tools, dock, closed).then((opened) => {
        float = opened
        float?.show(element.agent.state)
      })
    }
    if (has("picture-in-picture") && canFloat()) {
      floatButton = button("float.open", openWindow, "way", windowIcon())
      floatButton.hidden = floats
      nodes.push(floatButton)
    }
    if (has("handoff")) {
      const link = (): string => {
        if (ticket !== undefined) share(ticket)
        return linkOf(location.href, ticket ?? "", key)
      }
      nodes.push(...createOffer(tools, link))
    }
    return nodes
  }

  const afterCall = (screen: Screen, tools: Tools): Screen => {
    const lasted = state.name === "ended" ? state.lasted : undefined
    // below what is said of the call: its picture, title, text and length
    const [top, others] = [screen.nodes.slice(0, 4), screen.nodes.slice(4)]
    if (!has("rating") || lasted === undefined) return screen
    const rate = createRating(tools, rating, (stars) => {
      rating = stars
      element.dispatchEvent(new CustomEvent("rating", { detail: { rating: stars, lasted } }))
    })
    return { ...screen, nodes: [...top, rate, ...others] }
  }

  return { visit: { openVisit }, screens: { createScreens } }
}
