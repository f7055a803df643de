/** The messages of schemas about the expected type are in TypeScript's notation; callers read words. */

const TAGGED = /\{ readonly "(\w+)": ("[^"]*"), \.\.\. \}/g
const OBJECT = /\{ readonly [^{}]*\}/g
const EXPECTED = "Expected "

/** Such as `Expected string or null` for `Expected string | null`. Other messages stay as they are. */
export const plainExpectation = (message: string): string => {
  if (!message.startsWith(EXPECTED) || !/ \| |\{ readonly /.test(message)) return message
  const members = message
    .slice(EXPECTED.length)
    .replace(TAGGED, "object with $1 $2")
    .replace(OBJECT, "object")
    .split(" | ")
  const last = members.pop() ?? ""
  return `${EXPECTED}${members.length === 0 ? last : `${members.join(", ")} or ${last}`}`
}
