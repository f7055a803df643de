/** The templates of `generic`: placeholders in paths and bodies, and paths into an answer. */
import { Predicate } from "effect"

type Values = Readonly<Record<string, unknown>>

const PLACEHOLDER = /\{\{(\w+)\}\}/g

/** A path with its placeholders replaced by encoded values. */
export const pathOf = (template: string, values: Values): string =>
  template.replace(/^\/+/, "").replace(PLACEHOLDER, (_, name) => encodeURIComponent(String(values[name] ?? "")))

const DOTS = /^\.{1,2}$/

/** Whether a value has become a segment that leads to another path. Percent-encoding would not change what such a segment means. */
export const isElsewhere = (template: string, path: string): boolean => {
  const written = template.replace(/^\/+/, "").split(/[/?#]/)
  return path.split(/[/?#]/).some((segment, n) => DOTS.test(segment) && !DOTS.test(written[n] ?? ""))
}

/** JSON with the placeholders in its texts replaced. A text that is one placeholder alone becomes the value itself. */
export const filled = (template: unknown, values: Values): unknown => {
  if (typeof template === "string") {
    const [, only = ""] = /^\{\{(\w+)\}\}$/.exec(template) ?? []
    return only === "" ? template.replace(PLACEHOLDER, (_, name) => String(values[name] ?? "")) : values[only]
  }
  if (Array.isArray(template)) return template.map((item) => filled(item, values))
  if (typeof template !== "object" || template === null) return template
  return Object.fromEntries(Object.entries(template).map(([name, value]) => [name, filled(value, values)]))
}

/** The text at a path such as `data.items.0.id`; undefined if there is none. */
export const textAt = (value: unknown, path: string): string | undefined => {
  const found = path
    .split(".")
    .reduce<unknown>((at, name) => (Predicate.hasProperty(at, name) ? at[name] : undefined), value)
  return (typeof found === "string" && found !== "") || typeof found === "number" ? String(found) : undefined
}
