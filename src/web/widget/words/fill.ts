/** A text of the widget, and how it is filled in. */

/** If the text depends on a number, it has one form for each plural category of its language. */
export type Text = string | (Partial<Record<Intl.LDMLPluralRule, string>> & { readonly other: string })

export const isText = (value: unknown): value is Text =>
  typeof value === "string" ||
  (typeof value === "object" && value !== null && "other" in value && typeof value.other === "string")

/** What texts are filled in with, by name. */
export type Values = Readonly<Record<string, string | number>>

/** Fills in a text that does not depend on a number. */
export const fillIn = (text: string, locale: string, values: Values): string =>
  text.replace(/\{(\w+)\}/g, (all, name: string) => {
    const value = values[name] ?? all
    return typeof value === "number" ? value.toLocaleString(locale) : value
  })

export const fill = (text: Text, locale: string, values: Values): string => {
  const plural = new Intl.PluralRules(locale).select(Number(values.n ?? 0))
  return fillIn(typeof text === "string" ? text : (text[plural] ?? text.other), locale, values)
}
