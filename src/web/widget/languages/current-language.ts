/**
 * The language of a widget's texts: the one that the visitor chose, else that of `lang` at the element or its nearest ancestor, else
 * the browser's. English is in the bundle. Every other language is a file of the gate (`widget/languages/{name}.json`), loaded when it
 * is needed; when that fails, the texts are in English.
 */

import { gateUrl } from "../client/options.ts"
import { type Fields, parse } from "../gate/json.ts"
import { ENGLISH, isRightToLeft, type Language, localeOf, match } from "./languages.ts"

const loading: Record<string, Promise<Fields | undefined> | undefined> = {}

/** The texts of a file, once for all widgets of the page. A failed load is undefined, and is tried again the next time. */
const load = (url: string): Promise<Fields | undefined> =>
  (loading[url] ??= fetch(url)
    .then(async (response) => parse(await (response.ok ? response.text() : Promise.reject())))
    .catch(() => {
      loading[url] = undefined
      return undefined
    }))

/** The element in whose shadow root an element is; undefined if it is in none. */
export const hostOf = (element: Element): Element | undefined => {
  const root = element.getRootNode()
  return root instanceof ShadowRoot ? root.host : undefined
}

/** `lang` of the element or its nearest ancestor, also outside of its shadow root; empty if there is none. */
const pageLanguage = (element: Element | undefined): string =>
  element === undefined ? "" : (element.closest<HTMLElement>("[lang]")?.lang ?? pageLanguage(hostOf(element)))

export interface Languages {
  readonly current: () => Language
  /** Finds the language again and loads it; resolves when its texts, or English, can be shown. */
  readonly update: () => Promise<void>
  /** Sets the language and the direction of an element with the texts. */
  readonly mark: (shown: Element) => void
}

export interface LanguagesOptions {
  /** the visitor's choice */
  readonly chosen: () => string | undefined
  /** whether the page has texts of its own, which are in the page's language */
  readonly hasOwnTexts: () => boolean
  /** called when there are other texts to show */
  readonly changed: () => void
}

export const createLanguages = (
  element: HTMLElement,
  { changed, chosen, hasOwnTexts }: LanguagesOptions,
): Languages => {
  let loaded = ENGLISH
  let wanted = ENGLISH.locale
  let pending = Promise.resolve()
  const ownLocale = (): string | undefined =>
    hasOwnTexts() ? localeOf(chosen() ?? pageLanguage(element)) : loaded.locale
  const current = (): Language => ({ ...loaded, locale: ownLocale() ?? loaded.locale })
  const use = async (language: Language): Promise<void> => {
    const gate = element.getAttribute("gate") ?? undefined
    const url = gateUrl({ gate }, `widget/languages/${language.name}.json`).href
    const texts = language.name === "en" ? {} : await load(url)
    // another language is wanted by now
    if (language.locale !== wanted) return
    loaded = texts === undefined ? ENGLISH : { ...language, texts }
    // so that the next update tries again
    wanted = loaded.locale
    changed()
  }
  return {
    current,
    update: () => {
      const found = [chosen() ?? "", pageLanguage(element), ...navigator.languages].map(match)
      const language = found.find((each) => each !== undefined) ?? ENGLISH
      if (language.locale !== wanted) {
        wanted = language.locale
        pending = use(language)
      }
      return pending
    },
    mark: (shown) => {
      const { locale } = current()
      shown.setAttribute("lang", new Intl.Locale(locale).baseName)
      // texts of a page that does not say its language have the page's direction
      const inherited = element.hasAttribute("dir") || ownLocale() === undefined
      shown.setAttribute("dir", inherited ? "" : isRightToLeft(locale) ? "rtl" : "ltr")
    },
  }
}
