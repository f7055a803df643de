/** The languages that the widget has texts in, and how a language tag (BCP 47) finds one. A new one is a file here, and a name in `NAMES`. */
import type { Fields } from "../gate/json.ts"

/** The names of the files, and English. */
export const NAMES: ReadonlyArray<string> = "en ar cs de es fr he hi it ja ko nl pl pt sv tr uk zh-Hans".split(" ")

export interface Language {
  /** one of `NAMES` */
  readonly name: string
  /** BCP 47, for numbers, times and plural forms; with the digits of the running clocks, which are Latin */
  readonly locale: string
  /** by key; English stands in for missing ones */
  readonly texts: Fields
}

export const ENGLISH: Language = { name: "en", locale: "en", texts: {} }

/** The language of a tag such as `de-AT` or `zh-CN`, without its texts; undefined if there is none. */
export const match = (tag: string): Language | undefined => {
  try {
    const { language, script } = new Intl.Locale(tag).maximize()
    const name = NAMES.find((each) => each === language || each === `${language}-${script}`)
    return name === undefined
      ? undefined
      : { name, locale: new Intl.Locale(tag, { numberingSystem: "latn" }).toString(), texts: {} }
  } catch {
    return undefined
  }
}

/** The tag for numbers in the page's own texts, which may be in any language that the browser knows. */
export const localeOf = (tag: string): string | undefined => {
  try {
    return match(tag)?.locale ?? Intl.NumberFormat.supportedLocalesOf(tag)[0]
  } catch {
    return undefined
  }
}

export const isRightToLeft = (locale: string): boolean => /^(ar|dv|fa|he|ks|ps|sd|ug|ur|yi)\b/.test(locale)
