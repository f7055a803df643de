/** Says what an action did, for some seconds. */
import { announce } from "../../shared/parts/announce.ts"

const SHOWN_MILLIS = 6_000

export const notify = (text: string): void => announce(text, SHOWN_MILLIS)
