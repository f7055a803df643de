/** A text of the widget, and how it is filled in. */

/** If the text depends on a number, it has one form for each plural category of its language. */
export type Text = string | (Partial<Record<Intl.LDMLPluralRule, string>> & { readonly other: string })

export const isText = (value: unknown): value is Text =>
  typeof value === "string" ||
  (typeof value === "object" && value !== null && "other" in value && typeof value.other === "string")

export const fill = (text: Text, locale: string, values: Readonly<Record<string, string | number>>): string => {
  const plural = new Intl.PluralRules(locale).select(Number(values.n ?? 0))
  const chosen = typeof text === "string" ? text : (text[plural] ?? text.other)
  return chosen.replace(/\{(\w+)\}/g, (all, name: string) => {
    const value = values[name] ?? all
    return typeof value === "number" ? value.toLocaleString(locale) : value
  })
}
