/**
 * `<voice-agent gate="https://…">`: the widget as an element. Attributes: gate, campaign, region, client-identifier, audio,
 * worklet, auto-start, notify, theme, strings (JSON), lang, dir. Events: `statechange`, `message`.
 */
import { createAttention } from "./attention.ts"
import { createVoiceAgent, type VoiceAgent } from "./client.ts"
import { areValid, valuesOf } from "./fields.ts"
import { parse } from "./json.ts"
import type { VoiceAgentOptions, WantedFormat } from "./options.ts"
import type { Action } from "./screens.ts"
import type { VoiceAgentState } from "./state.ts"
import { createSay, type Strings } from "./strings.ts"
import { createView } from "./view.ts"

/** The API of a `<voice-agent>`. */
export interface VoiceAgentElement extends HTMLElement {
  /** `begin`, `start`, `leave` and the rest, as of `createVoiceAgent` */
  readonly agent: VoiceAgent
  /** replaces texts of the widget; overrides the attribute */
  strings: Strings
  /** sent in addition to the form fields in the element: variables for the agent's script, metadata for the records */
  dynamicVariables: Readonly<Record<string, string>>
  metadata: Readonly<Record<string, string>>
  /** replaces the microphone */
  source: (() => Promise<MediaStream>) | undefined
}

declare global {
  interface HTMLElementTagNameMap {
    "voice-agent": VoiceAgentElement
  }
}

/** Parses a format such as `pcm 16000 16` or `mulaw 8000`: encoding, sample rate and, for PCM, bits per sample. */
const formatFrom = (text: string | null): WantedFormat | undefined => {
  const [encoding, rate, bits] = (text ?? "").trim().split(/\s+/)
  if (encoding !== "pcm" && encoding !== "mulaw" && encoding !== "alaw") return undefined
  return {
    encoding,
    ...(rate === undefined ? {} : { sampleRate: Number(rate) }),
    ...(bits === undefined ? {} : { bitsPerSample: Number(bits) }),
  }
}

/** Defines the element `<voice-agent>`, once. */
export const defineVoiceAgent = (): void => {
  if (customElements.get("voice-agent") !== undefined) return

  class Widget extends HTMLElement implements VoiceAgentElement {
    static readonly observedAttributes = ["strings", "lang"]
    dynamicVariables: Readonly<Record<string, string>> = {}
    metadata: Readonly<Record<string, string>> = {}
    source: (() => Promise<MediaStream>) | undefined
    readonly agent = createVoiceAgent(this.options())
    private ownStrings: Strings = {}
    private readonly say = createSay(
      () => ({ ...parse(this.getAttribute("strings") ?? ""), ...this.ownStrings }),
      () => this.language,
    )
    private readonly attention = createAttention(this.say, () => this.hasAttribute("notify"))
    private view: ReturnType<typeof createView> | undefined
    private readonly root = this.attachShadow({ mode: "open" })

    constructor() {
      super()
      this.agent.on("state", (state) => this.show(state))
      this.agent.on("message", (text) => {
        this.view?.message(text)
        this.dispatchEvent(new CustomEvent("message", { detail: text }))
      })
      this.agent.on("level", (level) => this.view?.level(level))
    }

    /** Getters, because each visit reads the attributes and fields again. */
    private options(): VoiceAgentOptions {
      const attribute = (name: string): string | undefined => this.getAttribute(name) ?? undefined
      const element = this
      return {
        get gate() {
          return attribute("gate")
        },
        get campaign() {
          return attribute("campaign")
        },
        get region() {
          return attribute("region")
        },
        get clientIdentifier() {
          return attribute("client-identifier")
        },
        get worklet() {
          return attribute("worklet")
        },
        get input() {
          return formatFrom(element.getAttribute("audio"))
        },
        get output() {
          return formatFrom(element.getAttribute("audio"))
        },
        get autoStart() {
          return element.hasAttribute("auto-start")
        },
        get dynamicVariables() {
          return { ...element.dynamicVariables, ...valuesOf(element, "variables") }
        },
        get metadata() {
          return { ...element.metadata, ...valuesOf(element, "metadata") }
        },
        get source() {
          return element.source
        },
      }
    }

    get strings(): Strings {
      return this.ownStrings
    }

    set strings(strings: Strings) {
      this.ownStrings = strings
      this.view?.redraw()
    }

    private get language(): string {
      const named = this.closest("[lang]")?.getAttribute("lang") ?? ""
      return Intl.NumberFormat.supportedLocalesOf([named].filter(Boolean))[0] ?? "en"
    }

    connectedCallback(): void {
      if (this.view !== undefined) return
      this.view = createView(this.root, {
        say: this.say,
        language: () => this.language,
        act: (action) => this.act(action),
        notifying: this.attention.notifying,
      })
      this.show(this.agent.state)
      void this.agent.resume()
    }

    /** Leaves when the element is removed from the page, but not when it is moved within it. */
    disconnectedCallback(): void {
      queueMicrotask(() => {
        if (this.isConnected) return
        this.agent.leave()
        this.view?.close()
        this.view = undefined
      })
    }

    attributeChangedCallback(): void {
      this.view?.redraw()
    }

    private show(state: VoiceAgentState): void {
      this.setAttribute("state", state.name)
      this.view?.show(state)
      this.attention.show(state)
      this.dispatchEvent(new CustomEvent("statechange", { detail: state }))
    }

    private act(action: Action): void {
      const { agent } = this
      if (action === "mute") agent.setMuted(agent.state.name === "in-call" && !agent.state.muted)
      else if (action === "notify") void this.attention.ask().then(() => this.view?.show(agent.state))
      else if (action !== "begin" || agent.state.name !== "idle" || areValid(this)) agent[action]()
    }
  }

  customElements.define("voice-agent", Widget)
}
