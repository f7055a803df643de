/** What is wrong with an attribute, for the page's author. Those that are absent or empty have their default. */

/** The values of the attributes that are one of a list. */
const CHOICES: Readonly<Record<string, string>> = {
  mode: "floating",
  corner: "bottom-right bottom-left bottom-center top-right top-left top-center",
  launcher: "pill round",
  size: "small medium large",
  theme: "light dark",
  "text-input": "on off",
  ring: "off",
  captions: "off",
  check: "off",
}

/** The attributes that are checked. */
export const CHECKED: ReadonlyArray<string> = [...Object.keys(CHOICES), "accent", "avatar"]

/** Whether the style alone reads an attribute, or a call. */
export const isChoice = (name: string): boolean => name in CHOICES && !/text|check/.test(name)

/** What an attribute has to be; undefined if it is that, or empty. */
export const expected = (name: string, value: string): string | undefined => {
  if (value === "") return undefined
  if (name === "accent") return CSS.supports("color", value) ? undefined : "a color"
  if (name === "avatar") return URL.canParse(value, document.baseURI) ? undefined : "an address"
  const choices = CHOICES[name]
  return choices?.split(" ").includes(value) === false ? choices.replaceAll(" ", ", ") : undefined
}
