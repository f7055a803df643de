/** Set-up that tests of the gatekeeper share: a ticket that is called, starts that the platform answers late, effects that wait. */
import { Deferred, Effect } from "effect"
import { BEGIN, begin, CALLER, caller, enqueue, hangUp, session, type World } from "../support/gate.ts"

/** A called ticket: its caller waited while another one held the only slot and then hung up. */
export const calledTicket = Effect.fnUntraced(function* (address = caller(1), holder = CALLER) {
  const { sessionId } = yield* begin(holder)
  const ticket = yield* enqueue(address)
  yield* hangUp(sessionId)
  return ticket
})

/** Makes the platform answer starts only when the returned effect has run; by default with a session. */
export const delayStarts = (
  world: World,
  answer: World["initiate"] = (n) => Effect.succeed(session(n)),
): Effect.Effect<Effect.Effect<boolean>> =>
  Effect.map(Deferred.make<void>(), (released) => {
    world.initiate = (n) => Effect.andThen(Deferred.await(released), answer(n))
    return Deferred.succeed(released, undefined)
  })

/** Runs an effect in the background, up to the point where it waits. */
export const inBackground = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.tap(Effect.forkChild(effect), () => Effect.yieldNow)

export const iso = (millis: number): string => new Date(BEGIN + millis).toISOString()
