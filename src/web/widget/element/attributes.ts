/** The options of a `<voice-agent>`: getters, because each visit reads its attributes and the page's fields again. */

import type { VoiceAgentOptions, WantedFormat } from "../client/options.ts"
import { valuesOf } from "./fields.ts"

/** An element that has what attributes cannot express. */
export interface Described extends HTMLElement {
  /** sent in addition to the form fields in the element: variables for the agent's script, metadata for the records */
  dynamicVariables: Readonly<Record<string, string>>
  metadata: Readonly<Record<string, string>>
  /** a token that says who calls, or gets one at each request; overrides the attribute */
  identity: VoiceAgentOptions["identity"]
  /** replaces the microphone */
  source: (() => Promise<MediaStream>) | undefined
  /** imports the vendor's SDK; overrides the attribute */
  sdk: VoiceAgentOptions["sdk"]
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

export const optionsOf = (element: Described): VoiceAgentOptions => {
  const attribute = (name: string): string | undefined => element.getAttribute(name) ?? undefined
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
    get identity() {
      return element.identity ?? attribute("identity")
    },
    get key() {
      const agents: ReadonlyArray<Element> = [...document.querySelectorAll("voice-agent")]
      return element.id || `${agents.indexOf(element) || ""}`
    },
    get consent() {
      return element.hasAttribute("consent")
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
    get pushToTalk() {
      return element.hasAttribute("push-to-talk")
    },
    get textInput() {
      const wanted = attribute("text-input")
      return wanted === undefined ? undefined : wanted !== "off"
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
    get sdk() {
      return element.sdk ?? attribute("sdk")
    },
  }
}
