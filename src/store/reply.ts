/** Reads a script's reply; a reply of another shape is a fault of the script, so these throw. */
import type { Reply } from "../Store.ts"

export const list = (reply: Reply | undefined): ReadonlyArray<Reply> => {
  if (reply === undefined || typeof reply === "string" || typeof reply === "number") {
    throw new TypeError(`a script answered ${JSON.stringify(reply)} where a list was expected`)
  }
  return reply
}

export const text = (reply: Reply | undefined): string => {
  if (typeof reply !== "string") {
    throw new TypeError(`a script answered ${JSON.stringify(reply)} where a string was expected`)
  }
  return reply
}

/** An integer, also where Redis answers it as a string. */
export const integer = (reply: Reply | undefined): number => {
  const value = typeof reply === "string" ? Number(reply) : reply
  if (typeof value !== "number" || !Number.isInteger(value)) {
    throw new TypeError(`a script answered ${JSON.stringify(reply)} where an integer was expected`)
  }
  return value
}
