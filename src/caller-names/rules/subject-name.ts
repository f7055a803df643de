/** How the name of a subject differs from that of an address. */
import { beginsWith, withoutBeginning } from "../../store/rules/native.ts"

/** What the name of a subject begins with, plain or hashed. No address begins so. */
export const SUBJECT_PREFIX = "sub:"

/** The subject in a caller's name, percent-encoded or hashed; undefined for an address. */
export const subjectIn = (name: string): string | undefined =>
  beginsWith(name, SUBJECT_PREFIX) ? withoutBeginning(name, SUBJECT_PREFIX.length) : undefined
