/** Reads again and again how many slots campaigns have that do not state it. */
import { Effect, Layer } from "effect"
import { Capacity, POLL_MILLIS } from "../capacity/Capacity.ts"
import { runEvery } from "./run-every.ts"

export const layer = Layer.effectDiscard(
  Effect.flatMap(Capacity, ({ refresh }) => runEvery(POLL_MILLIS, "reading of the platform's concurrency", refresh)),
)
