/** The code that embeds the widget of a gate, and the address of its preview. */

export interface EmbedInput {
  /** the gate's origin */
  readonly gate: string
  /** the campaign in the gate's settings; empty for its default */
  readonly campaign: string
  readonly theme: "" | "light" | "dark"
  /** a language tag; empty for the page's language */
  readonly lang: string
  readonly notify: boolean
}

const attributesOf = ({ campaign, lang, notify, theme }: EmbedInput): ReadonlyArray<readonly [string, string]> =>
  [
    ["campaign", campaign.trim()] as const,
    ["theme", theme] as const,
    ["lang", lang.trim()] as const,
    ["notify", notify ? "true" : ""] as const,
  ].filter(([, value]) => value !== "")

const quoted = (value: string): string =>
  `"${value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;")}"`

/** HTML for a page of the website. */
export const embedCode = (input: EmbedInput): string => {
  const attributes = attributesOf(input).map(([name, value]) =>
    name === "notify" ? ` ${name}` : ` ${name}=${quoted(value)}`,
  )
  return [
    `<script type="module" src=${quoted(`${input.gate}/widget.js`)}></script>`,
    `<voice-agent gate=${quoted(input.gate)}${attributes.join("")}></voice-agent>`,
  ].join("\n")
}

export const previewUrl = (input: EmbedInput): string => {
  const query = new URLSearchParams(attributesOf(input).map(([name, value]) => [name, value]))
  return `${input.gate}/widget/preview${query.size === 0 ? "" : `?${query}`}`
}
