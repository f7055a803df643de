/** The code that embeds the widget of a gate, and what its preview is told. */
import { match } from "../../../widget/languages/languages.ts"

export interface EmbedInput {
  /** the gate's origin */
  readonly gate: string
  /** the campaign in the gate's settings; empty for its default */
  readonly campaign: string
  /** a region of that campaign; empty for its default */
  readonly region: string
  /** empty for the inline form */
  readonly mode: "" | "floating"
  /** of the floating form */
  readonly corner: "" | `${"bottom" | "top"}-${"right" | "left" | "center"}`
  /** how the floating form begins: a pill with a text, or a circle */
  readonly launcher: "" | "round"
  /** a tap on the launcher begins the call */
  readonly oneTap: boolean
  readonly size: "" | "small" | "large"
  readonly theme: "" | "light" | "dark"
  /** the agent's name, the title of the first screen, a CSS color, and a picture's address; each empty for none */
  readonly agentName: string
  readonly heading: string
  readonly accent: string
  readonly avatar: string
  /** a language tag; empty for the page's language */
  readonly lang: string
  /** language tags that the visitor can choose from, with spaces or commas between them */
  readonly languages: string
  /** whether there is a text field; empty for what the platform says */
  readonly textInput: "" | "on" | "off"
  readonly pushToTalk: boolean
  readonly captions: boolean
  readonly check: boolean
  readonly ring: boolean
  readonly notify: boolean
  readonly autoStart: boolean
  /** what visitors agree to before a call; empty for nothing */
  readonly consent: string
  /** the address of the privacy policy; empty for none */
  readonly consentLink: string
  readonly consentRemember: boolean
  readonly pictureInPicture: boolean
  readonly handoff: boolean
  readonly rating: boolean
}

/** The widget without any option. */
export const DEFAULTS: Omit<EmbedInput, "gate"> = {
  campaign: "",
  region: "",
  mode: "",
  corner: "",
  launcher: "",
  oneTap: false,
  size: "",
  theme: "",
  agentName: "",
  heading: "",
  accent: "",
  avatar: "",
  lang: "",
  languages: "",
  textInput: "",
  pushToTalk: false,
  captions: true,
  check: true,
  ring: true,
  notify: false,
  autoStart: false,
  consent: "",
  consentLink: "",
  consentRemember: false,
  pictureInPicture: false,
  handoff: false,
  rating: false,
}

const tagsOf = (languages: string): ReadonlyArray<string> => languages.split(/[\s,]+/).filter((tag) => tag !== "")

/** The tags among `languages` that the widget has no texts in. */
export const unknownLanguages = (languages: string): ReadonlyArray<string> =>
  tagsOf(languages).filter((tag) => match(tag) === undefined)

const knownLanguages = (languages: string): string =>
  tagsOf(languages)
    .filter((tag) => match(tag) !== undefined)
    .join(" ")

/** Whether the widget takes this as its `accent`. */
export const isColor = (text: string): boolean => CSS.supports("color", text.trim())

/** Whether the widget takes this as the address of a picture, from the root of the website or whole. */
export const isAddress = (text: string): boolean => /^(https?:\/\/|\/)\S+$/.test(text.trim())

const off = (on: boolean): string => (on ? "" : "off")

/** The attributes that differ from the widget's defaults; `true` is an attribute without a value. */
const attributesOf = (input: EmbedInput): ReadonlyArray<readonly [name: string, value: string | true]> => {
  const asks = input.consent.trim() !== ""
  const floating = input.mode === "floating"
  const values: ReadonlyArray<readonly [string, string]> = [
    ["campaign", input.campaign.trim()],
    ["region", input.region.trim()],
    ["mode", input.mode],
    ["corner", floating ? input.corner : ""],
    ["launcher", floating ? input.launcher : ""],
    ["size", input.size],
    ["theme", input.theme],
    ["agent-name", input.agentName.trim()],
    ["heading", input.heading.trim()],
    ["accent", isColor(input.accent) ? input.accent.trim() : ""],
    ["avatar", isAddress(input.avatar) ? input.avatar.trim() : ""],
    ["lang", input.lang.trim()],
    ["languages", knownLanguages(input.languages)],
    ["text-input", input.textInput],
    ["captions", off(input.captions)],
    ["check", off(input.check)],
    ["ring", off(input.ring)],
    ["consent", asks ? input.consent.trim() : ""],
    ["consent-link", asks ? input.consentLink.trim() : ""],
  ]
  const flags: ReadonlyArray<readonly [string, boolean]> = [
    ["one-tap", floating && input.oneTap],
    ["push-to-talk", input.pushToTalk],
    ["notify", input.notify],
    ["auto-start", input.autoStart],
    ["consent-remember", asks && input.consentRemember],
    ["picture-in-picture", input.pictureInPicture],
    ["handoff", input.handoff],
    ["rating", input.rating],
  ]
  return [
    ...values.filter(([, value]) => value !== ""),
    ...flags.flatMap(([name, on]) => (on ? [[name, true] as const] : [])),
  ]
}

const quoted = (value: string): string =>
  `"${value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;")}"`

/** HTML for a page of the website. */
export const embedCode = (input: EmbedInput): string => {
  const attributes = attributesOf(input).map(([name, value]) =>
    value === true ? ` ${name}` : ` ${name}=${quoted(value)}`,
  )
  return [
    `<script type="module" src=${quoted(`${input.gate}/widget.js`)}></script>`,
    `<voice-agent gate=${quoted(input.gate)}${attributes.join("")}></voice-agent>`,
  ].join("\n")
}

/** What the preview is told: the attributes, and the state to show, a sample; empty for the widget as it is on any page. */
export const previewMessage = (input: EmbedInput, state: string): object => ({
  "voicegate-preview": {
    attributes: Object.fromEntries(attributesOf(input).map(([name, value]) => [name, value === true ? "" : value])),
    state,
  },
})
