/** Sends the heartbeat of this gate, beginning at once, and reports the conflicts that its answers show. */
import { Effect, Layer } from "effect"
import { runEvery } from "../background/run-every.ts"
import { Peers } from "./Peers.ts"
import { HEARTBEAT_MILLIS, PeersHeartbeat } from "./PeersHeartbeat.ts"

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { send } = yield* PeersHeartbeat
    const { report } = yield* Peers
    yield* Effect.forkScoped(Effect.ignore(send), { startImmediately: true })
    yield* runEvery(HEARTBEAT_MILLIS, "heartbeat of the gate", Effect.flatMap(send, report))
  }),
)
