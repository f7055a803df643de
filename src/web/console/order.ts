/** Orders something at the gate, and says what became of it. */
import { announce } from "../shared/parts/announce.ts"
import { messageOf } from "./client.ts"
import { OUTCOME_MILLIS } from "./outcomes.ts"

/** An answer that takes longer than this is said to be on its way. */
const SOON_MILLIS = 1_000

/** @param failed what is said before the reason when it fails */
export const order = async <A>(
  ordered: Promise<A>,
  textOf: (answer: A) => string,
  failed = "Action failed",
): Promise<void> => {
  const slow = setTimeout(() => announce("Waiting for the gate…"), SOON_MILLIS)
  const text = await ordered.then(textOf).catch((error: unknown) => `${failed}: ${messageOf(error)}`)
  clearTimeout(slow)
  announce(text, OUTCOME_MILLIS)
}
