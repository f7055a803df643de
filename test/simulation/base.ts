/** The one store below all gates of a history: the embedded one, called without waiting, or a real server. */
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { type Reply, type Script, Store } from "../../src/Store.ts"
import * as memory from "../../src/store/memory.ts"
import { type Kernel, Process } from "./kernel.ts"

export interface Base {
  /** Runs a script; `done` is called once, with everything published by it already heard. */
  readonly run: (
    script: Script,
    keys: ReadonlyArray<string>,
    args: ReadonlyArray<string | number>,
    done: (reply: Reply) => void,
  ) => void
  readonly listen: (channel: string, onMessage: (message: string) => void) => void
}

/** The embedded store on simulated time. */
export const memoryBase = (kernel: Kernel): Base => {
  const { context } = new Process(kernel)
  const scope = Scope.makeUnsafe()
  const built = Effect.runSyncExitWith(context)(Layer.buildWithScope(memory.layer, scope))
  if (Exit.isFailure(built)) throw new Error("the memory store cannot be built", { cause: built.cause })
  const store = Context.get(built.value, Store)
  return {
    run: (script, keys, args, done) => done(Effect.runSync(store.run(script, keys, args))),
    listen: (channel, onMessage) => Effect.runSync(Scope.provide(store.subscribe(channel, onMessage), scope)),
  }
}

const MARK = "vg:simulation:mark"

/** A real server; simulated time stands still until it has answered and its messages have arrived. */
export const redisBase = async (kernel: Kernel, store: Store["Service"], scope: Scope.Scope): Promise<Base> => {
  const marks = new Map<string, () => void>()
  let marked = 0
  await Effect.runPromise(
    Scope.provide(
      store.subscribe(MARK, (mark) => marks.get(mark)?.()),
      scope,
    ),
  )
  const wait = <A>(call: Promise<A>, then: (answer: A) => void): void => {
    const done = kernel.begun()
    call.then(then).then(done, (error: unknown) => {
      kernel.broken ??= error
      done()
    })
  }
  return {
    run: (script, keys, args, done) =>
      wait(
        (async () => {
          const reply = await Effect.runPromise(store.run(script, keys, args))
          const mark = String(marked++)
          // one connection carries all that is published, in order: after this mark nothing older is under way
          const heard = new Promise<void>((resolve) => marks.set(mark, resolve))
          await Effect.runPromise(store.publish(MARK, mark))
          await heard
          marks.delete(mark)
          return reply
        })(),
        done,
      ),
    listen: (channel, onMessage) =>
      wait(Effect.runPromise(Scope.provide(store.subscribe(channel, onMessage), scope)), () => {}),
  }
}
