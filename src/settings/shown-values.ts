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
