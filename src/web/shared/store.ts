/** An observable value that components subscribe to. */
import { useEffect, useState } from "preact/hooks"

export interface Store<A> {
  readonly get: () => A
  readonly set: (value: A) => void
  readonly subscribe: (listener: () => void) => () => void
}

export const createStore = <A>(initial: A): Store<A> => {
  let value = initial
  const listeners = new Set<() => void>()
  return {
    get: () => value,
    set: (next) => {
      if (Object.is(next, value)) return
      value = next
      for (const listener of [...listeners]) listener()
    },
    subscribe: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

export const useStore = <A>(store: Store<A>): A => {
  const [value, setValue] = useState<A>(store.get)
  useEffect(() => {
    const update = (): void => setValue(() => store.get())
    // it may have changed since the first render
    update()
    return store.subscribe(update)
  }, [store])
  return value
}
