/**
 * `<voice-agent gate="https://…">`: the widget as an element. `frameworks/attributes.ts` lists its attributes, and `lang`, `dir`,
 * `open`, `sdk` and `strings` (JSON) are attributes too. Events: `statechange`, `message`, `turn`, `rating`.
 */

import { createClient } from "../client/client.ts"
import { loadExtras, loadScreens, loadVisit, type VisitPart } from "../client/load.ts"
import type { VoiceAgentOptions } from "../client/options.ts"
import type { VoiceAgentState } from "../client/state.ts"
import { availabilityOf } from "../gate/availability.ts"
import { parse } from "../gate/json.ts"
import { createLanguages, hostOf } from "../languages/current-language.ts"
import { createSwitcher } from "../languages/switcher.ts"
import type { Action } from "../screens/parts.ts"
import { createRing } from "../waiting/ring.ts"
import { createSay, type Strings } from "../words/strings.ts"
import { optionsOf } from "./attributes.ts"
import { CHECKED, expected, isChoice } from "./choices.ts"
import type { VoiceAgentElement } from "./element-api.ts"
import { areValid } from "./fields.ts"
import { createView } from "./view.ts"

/** How the fragment of a link for another device begins. */
const HANDOFF = "#voicegate"
/** The attributes that need `extras.js`. */
const EXTRAS = /consent|rating|handoff|picture/

/** How long the first texts may take before they are shown in English, in milliseconds. */
const LANGUAGE_PATIENCE = 1_000

/** Defines the element `<voice-agent>`, once. */
export const defineVoiceAgent = (): void => {
  if (customElements.get("voice-agent") !== undefined) return

  class Widget extends HTMLElement implements VoiceAgentElement {
    static readonly observedAttributes = [
      "strings",
      "lang",
      "dir",
      "languages",
      "open",
      "heading",
      "agent-name",
      ...CHECKED,
    ]
    declare dynamicVariables: VoiceAgentElement["dynamicVariables"]
    declare metadata: VoiceAgentElement["metadata"]
    declare identity: VoiceAgentElement["identity"]
    declare source: VoiceAgentElement["source"]
    declare sdk: VoiceAgentElement["sdk"]
    private readonly given: Record<string, unknown> = { dynamicVariables: {}, metadata: {} }

    // Accessors, because Svelte sets a property only where there is a setter.
    static {
      for (const name of ["dynamicVariables", "metadata", "identity", "source", "sdk"]) {
        Object.defineProperty(Widget.prototype, name, {
          get(this: Widget) {
            return this.given[name]
          },
          set(this: Widget, value) {
            this.given[name] = value
          },
        })
      }
    }

    private readonly options = optionsOf(this)
    readonly agent = createClient(this.options, (options) => this.load(options))
    private ownStrings: Strings = {}
    private readonly allStrings = (): Strings => ({ ...parse(this.getAttribute("strings") ?? ""), ...this.ownStrings })
    private readonly switcher = createSwitcher(this, () => this.languages.update())
    private readonly languages = createLanguages(this, {
      chosen: this.switcher.chosen,
      hasOwnTexts: () => Object.keys(this.allStrings()).length > 0,
      changed: () => this.view?.redraw(),
    })
    private readonly say = createSay(this.allStrings, this.languages.current)
    private readonly langObserver = new MutationObserver(this.languages.update)
    private readonly bell = createRing()
    private readonly ring = () => (this.getAttribute("ring") === "off" ? undefined : this.bell)
    private view: ReturnType<typeof createView> | undefined
    private readonly root = this.attachShadow({ mode: "open" })

    constructor() {
      super()
      this.agent.on("state", (state) => this.show(state))
      this.agent.on("message", (text) => this.dispatchEvent(new CustomEvent("message", { detail: text })))
      this.agent.on("turn", (turn) => {
        this.view?.turn(turn)
        this.dispatchEvent(new CustomEvent("turn", { detail: turn }))
      })
      this.agent.on("level", (level) => this.view?.level(level))
    }

    private async load(options: VoiceAgentOptions): Promise<VisitPart> {
      const extended = EXTRAS.test(`${this.getAttributeNames()}`)
      const [visit, screens, extras] = await Promise.all([
        loadVisit(options),
        loadScreens(options),
        extended ? loadExtras(options) : undefined,
      ])
      const parts = extras?.extend(this, options, { visit, screens }) ?? { visit, screens }
      this.view?.use(parts.screens)
      return parts.visit
    }

    /** Loads what a visit needs, if that is possible now. */
    private ready(): Promise<unknown> {
      return this.load(this.options).catch(() => {})
    }

    private async check(on: boolean): Promise<void> {
      // If loading fails, nothing is shown and the visitor may tap again.
      if (on) await this.ready()
      this.view?.check(on)
    }

    get strings(): Strings {
      return this.ownStrings
    }

    set strings(strings: Strings) {
      this.ownStrings = strings
      this.view?.redraw()
    }

    get open(): boolean {
      return this.hasAttribute("open")
    }

    set open(open: boolean) {
      this.toggleAttribute("open", open)
    }

    /** An attribute; empty if it is absent, or wrong. */
    private text(name: string): string {
      const value = this.getAttribute(name)?.trim() ?? ""
      return expected(name, value) === undefined ? value : ""
    }

    private place(): void {
      this.view?.place(this.getAttribute("mode") === "floating", this.open)
    }

    connectedCallback(): void {
      this.followLanguage()
      if (this.view !== undefined) {
        // moved within the page
        this.place()
        return
      }
      this.addEventListener("keydown", this.submit)
      window.addEventListener("hashchange", this.followLink)
      for (const near of ["pointerenter", "focusin"]) this.addEventListener(near, this.agent.prepare, { once: true })
      this.view = createView(this.root, {
        say: this.say,
        language: () => this.languages.current().locale,
        localize: (screen, shown) => {
          for (const each of shown) this.languages.mark(each)
          this.switcher.draw(screen, this.languages.current().name, this.say("language"))
        },
        agent: () => ({
          name: this.text("agent-name"),
          heading: this.text("heading"),
          avatar: this.text("avatar"),
          writes: this.options.textInput === true && this.options.sdk === undefined,
        }),
        availability: () => availabilityOf(this.options),
        accent: () => this.text("accent"),
        ready: () => this.ready(),
        act: (action) => this.act(action),
        open: (open) => {
          this.open = open
          if (open && this.hasAttribute("one-tap") && this.agent.state.name === "idle") this.act("begin")
        },
        alerts: { notifies: () => this.hasAttribute("notify"), ring: this.ring },
        pushToTalk: () => this.hasAttribute("push-to-talk"),
        captions: () => this.getAttribute("captions") !== "off",
        checks: () => this.source === undefined && this.getAttribute("check") !== "off",
        check: (on) => void this.check(on),
        mute: this.agent.setMuted,
        take: this.agent.take,
        useMicrophone: this.agent.useMicrophone,
        send: this.agent.send,
      })
      const patience = new Promise((resolve) => window.setTimeout(resolve, LANGUAGE_PATIENCE))
      void Promise.race([this.languages.update(), patience]).then(async () => {
        await this.readLink()
        if (this.view === undefined) return
        this.place()
        this.view.redraw()
        this.show(this.agent.state)
        void this.agent.resume()
      })
    }

    /** Follows `lang` of every ancestor, also outside of shadow roots. */
    private followLanguage(): void {
      this.langObserver.disconnect()
      for (let at: Element | undefined = this; at !== undefined; at = hostOf(at)) {
        this.langObserver.observe(at.getRootNode(), { subtree: true, attributeFilter: ["lang"] })
      }
    }

    /** Leaves when the element is removed from the page, but not when it is moved within it. */
    disconnectedCallback(): void {
      queueMicrotask(() => {
        if (this.isConnected) return
        this.langObserver.disconnect()
        window.removeEventListener("hashchange", this.followLink)
        this.agent.leave()
        this.view?.close()
        this.bell.close()
        this.view = undefined
      })
    }

    attributeChangedCallback(name: string, before: string | null, after: string | null): void {
      if (before === after) return
      const value = after?.trim() ?? ""
      const wanted = expected(name, value)
      if (wanted !== undefined) console.warn(`voicegate: the attribute ${name}="${value}" has to be: ${wanted}`)
      if (name === "mode" || name === "open") this.place()
      // the style alone reads these, or a call
      if (isChoice(name) || name === "open") return
      // before the element is connected, a framework may not have set the gate
      if (this.isConnected) void this.languages.update()
      this.view?.redraw()
    }

    /** If the address has a link from another device, loads the parts that read it, because the first screen is then another one. */
    private async readLink(): Promise<boolean> {
      const isLink = location.hash.includes(HANDOFF)
      if (isLink) await this.ready()
      return isLink
    }

    /** The link was opened in the tab of this page, which only changes the fragment. */
    private readonly followLink = async (): Promise<void> => {
      if (await this.readLink()) this.view?.redraw()
    }

    /** Enter in a field of the page begins, as in a form. */
    private readonly submit = ({ isComposing, key, target }: KeyboardEvent): void => {
      if (key === "Enter" && !isComposing && target instanceof HTMLInputElement && this.agent.state.name === "idle")
        this.act("begin")
    }

    private show(state: VoiceAgentState): void {
      this.setAttribute("state", state.name)
      this.view?.show(state)
      // the visitor has just tapped to begin
      if (state.name === "checking-microphone") this.ring()?.unlock()
      this.dispatchEvent(new CustomEvent("statechange", { detail: state }))
    }

    private act(action: Action): void {
      const { agent } = this
      if (action === "mute") agent.setMuted(agent.state.name === "in-call" && !agent.state.muted)
      else if (!/begin|write/.test(action) || agent.state.name !== "idle" || areValid(this)) {
        if (action === "write") this.ring()?.unlock()
        agent[action]()
      }
    }
  }

  customElements.define("voice-agent", Widget)
}
