/** What the gate offers to a caller who would wait long, or is not taken. */
import type { Offer } from "../client/state.ts"
import { fieldsOf, list, text } from "./json.ts"

/** What an offer of each kind leads to begins so: nothing else becomes a link. */
const BEGINS = { number: "tel:", link: "https://", campaign: "" } as const

const isKind = (kind: string): kind is Offer["kind"] => Object.hasOwn(BEGINS, kind)

export const offersIn = (given: unknown): ReadonlyArray<Offer> =>
  list(given).flatMap((each) => {
    const { kind, label, target } = fieldsOf(each)
    const [of = "", words = "", to = ""] = [text(kind), text(label), text(target)]
    return isKind(of) && words !== "" && to !== "" && to.startsWith(BEGINS[of])
      ? [{ kind: of, label: words, target: to }]
      : []
  })
