/** The code that embeds the widget of a gate, and the address of its preview. */
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
  readonly theme: "" | "light" | "dark"
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
  theme: "",
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

const off = (on: boolean): string => (on ? "" : "off")

/** The attributes that differ from the widget's defaults; `true` is an attribute without a value. */
const attributesOf = (input: EmbedInput): ReadonlyArray<readonly [name: string, value: string | true]> => {
  const asks = input.consent.trim() !== ""
  const values: ReadonlyArray<readonly [string, string]> = [
    ["campaign", input.campaign.trim()],
    ["region", input.region.trim()],
    ["mode", input.mode],
    ["corner", input.mode === "floating" ? input.corner : ""],
    ["theme", input.theme],
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

/** The preview shows no consent: its page takes no texts from its address. */
export const previewUrl = (input: EmbedInput): string => {
  const query = new URLSearchParams(
    attributesOf({ ...input, consent: "" }).map(([name, value]) => [name, value === true ? "" : value]),
  )
  return `${input.gate}/widget/preview${query.size === 0 ? "" : `?${query}`}`
}
