/** How operators and logs name a ticket: by a hash of its id, which itself is its bearer's credential. */
import { beginning, sha1 } from "../store/rules/native.ts"

/** Hexadecimal digits: enough to tell tickets apart, far too few to guess the id. */
const HASH_LENGTH = 10

export const shortHash = (id: string): string => beginning(sha1(id), HASH_LENGTH)
