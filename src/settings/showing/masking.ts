/** What of a setting's value may be shown. Secrets never are, wherever they stand. */
import { type Flat, type Given, isEmptyList } from "../sources/flat.ts"
import { settingAt, settingRows } from "./table.ts"

const wordsIn = (text: string): ReadonlyArray<string> => text.split(/[\s:@,=/?&]+/).filter((part) => part.length >= 6)

const PLACEHOLDER = /\{\{\w+\}\}/g

/** The strings among the values of a JSON text, without placeholders; undefined if it is not JSON. Names of fields are not secrets. */
const textsOfJson = (text: string): ReadonlyArray<string> | undefined => {
  if (!/^\s*[[{]/.test(text)) return undefined
  const texts: Array<string> = []
  try {
    JSON.parse(text, (_name, value: unknown) => {
      if (typeof value === "string") texts.push(value.replace(PLACEHOLDER, " "))
      return value
    })
  } catch {
    return undefined
  }
  return texts
}

/**
 * The text and its parts that may be the actual secret: the key after `Token`, the password in a connection string, a value in JSON. None
 * of an empty text, which stands for an absent key and is part of every text.
 */
export const secretParts = (text: string): ReadonlyArray<string> => {
  const texts = textsOfJson(text)
  const values = texts?.map((value) => value.trim()).filter((value) => value.length >= 6) ?? []
  return [text, ...values, ...(texts ?? [text]).flatMap(wordsIn)].filter((part) => part !== "")
}

const secretNames = new Set(
  settingRows.filter(({ secret }) => secret).map(({ path }) => path.slice(path.lastIndexOf(".") + 1).toLowerCase()),
)

/** Every secret text. It must not appear in a message even if it was pasted into another field by mistake. */
const secretTexts = (flat: Flat): ReadonlyArray<string> =>
  [...flat].flatMap(([key, given]) => {
    if (isEmptyList(given)) return []
    const { text } = given
    const path = key.replace(/\.\d+$/, "")
    return secretNames.has(path.slice(path.lastIndexOf(".") + 1)) ? secretParts(text) : []
  })

/** Removes user, password, query and fragment from URLs. A password may contain a slash, which a valid URL does not. */
const withoutCredentials = (text: string): string =>
  text
    .replace(/\/\/.*@/s, "//***@")
    .replace(/([?#]).*/s, "$1***")
    .slice(0, 200)

/** A text as it may be shown; undefined when it is or contains one of the secret texts. */
export const masked = (text: string, secrets: ReadonlyArray<string>): string | undefined =>
  secrets.some((each) => text.includes(each) || (text.length >= 8 && each.includes(text)))
    ? undefined
    : withoutCredentials(text)

/** The text of a value as it may be shown; undefined when it is or contains a secret. */
export const makeMask = (flat: Flat): ((given: Given, path: string) => string | undefined) => {
  const secrets = secretTexts(flat)
  return (given, path) =>
    settingAt(path)?.secret === true && !isEmptyList(given) ? undefined : masked(given.text, secrets)
}
