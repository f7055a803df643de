/** What a call of the rule `admit` says of its newcomer. */
import type { Newcomer, Origin } from "../../src/fifo-queue/rules/admit.ts"

export const originOf = ({ origin }: Newcomer): Origin => JSON.parse(`{${origin.replace(/^,/, "")}`)
