/** Values of settings in force as they may be shown beside each other: JSON, `***` for a secret, `not set` for one that is absent. */
import { Redacted } from "effect"
import { masked, secretParts } from "./masking.ts"

const HIDDEN = "***"

const collectSecrets = (value: unknown, into: Set<string>): void => {
  if (Redacted.isRedacted(value)) {
    for (const part of secretParts(String(Redacted.value(value)))) into.add(part)
  } else if (typeof value === "object" && value !== null) {
    for (const each of Object.values(value)) collectSecrets(each, into)
  }
}

/**
 * Shows values of these settings. A text that contains one of their secrets is hidden too, wherever it stands.
 *
 * @param settings every version of the settings from which a value is shown
 */
export const showing = (...settings: ReadonlyArray<object>): ((value: unknown) => string) => {
  const secrets = new Set<string>()
  for (const each of settings) collectSecrets(each, secrets)
  const hidden = [...secrets]
  const show = (value: unknown): string => {
    if (value === undefined) return "not set"
    if (Redacted.isRedacted(value)) return HIDDEN
    if (Array.isArray(value)) return `[${value.map(show).join(", ")}]`
    if (typeof value !== "string") return JSON.stringify(value) ?? "not set"
    const text = masked(value, hidden)
    return text === undefined ? HIDDEN : JSON.stringify(text)
  }
  return show
}

/** A list whose text is longer than this, in characters, is shown by what differs. */
const LONG = 100

/**
 * Shows both values of a changed setting. Of two long lists, only what one has and the other lacks is shown, so that the change can be
 * read: `240 items, among them "192.0.2.7"`.
 *
 * @param show shows one value (`showing`)
 * @param textOf a text that is equal exactly if two items are
 */
export const showChange = (
  before: unknown,
  after: unknown,
  show: (value: unknown) => string,
  textOf: (item: unknown) => string,
): { readonly before: string; readonly after: string } => {
  const whole = { before: show(before), after: show(after) }
  if (!Array.isArray(before) || !Array.isArray(after)) return whole
  if (whole.before.length <= LONG && whole.after.length <= LONG) return whole
  const differing = (items: ReadonlyArray<unknown>, others: ReadonlyArray<unknown>): string => {
    const known = new Set(others.map(textOf))
    const own = items.filter((item) => !known.has(textOf(item))).map(show)
    const number = `${items.length} ${items.length === 1 ? "item" : "items"}`
    return own.length === 0 ? number : `${number}, among them ${own.join(", ")}`
  }
  const shown = { before: differing(before, after), after: differing(after, before) }
  return shown.before === shown.after ? { ...shown, after: `${shown.after} in another order` } : shown
}
