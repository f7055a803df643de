/** The one store below all gates of a history: the embedded one, called synchronously, or a real server. */
import { Context, Effect, Exit, Layer, Scope } from "effect"
import * as memory from "../../src/store/memory/layer.ts"
import { type Ask, type Rule, Store } from "../../src/store/Store.ts"
import { type Kernel, Process } from "./kernel.ts"

export interface Base {
  /** Runs a rule; `done` is called once, after all its messages were delivered. */
  readonly run: <C extends object, K extends object, A>(
    rule: Rule<C, K, A>,
    ask: Ask<C, K>,
    done: (answer: A) => void,
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
    run: (rule, ask, done) => done(Effect.runSync(store.run(rule, ask))),
    listen: (channel, onMessage) => Effect.runSync(Scope.provide(store.subscribe(channel, onMessage), scope)),
  }
}

const MARK = "vg:simulation:mark"

/**
 * A real server, used for one history after another. Simulated time stands still until it has answered and its messages
 * have arrived. A history's subscriptions end with the scope.
 */
export const redisBase = async (store: Store["Service"], scope: Scope.Scope): Promise<(kernel: Kernel) => Base> => {
  const marks = new Map<string, () => void>()
  let marked = 0
  const subscribe = (channel: string, onMessage: (message: string) => void): Promise<void> =>
    Effect.runPromise(Scope.provide(store.subscribe(channel, onMessage), scope))
  await subscribe(MARK, (mark) => marks.get(mark)?.())
  /** one connection carries all messages, in order: after its marker no older message is in flight */
  const arrived = async (): Promise<void> => {
    const mark = String(marked++)
    const heard = new Promise<void>((resolve) => marks.set(mark, resolve))
    await Effect.runPromise(store.publish(MARK, mark))
    await heard
    marks.delete(mark)
  }
  return (kernel) => {
    const wait = <A>(call: Promise<A>, then: (answer: A) => void): void => {
      const done = kernel.begun()
      call.then(then).then(done, (error: unknown) => {
        kernel.broken ??= error
        done()
      })
    }
    return {
      run: (rule, ask, done) =>
        wait(
          Effect.runPromise(store.run(rule, ask)).then(async (answer) => {
            await arrived()
            return answer
          }),
          done,
        ),
      listen: (channel, onMessage) => wait(subscribe(channel, onMessage), () => {}),
    }
  }
}
