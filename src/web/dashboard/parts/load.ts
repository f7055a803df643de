/**
 * A value of the platform that a page shows: loaded when the page appears, again when asked, and by itself while the
 * platform does not answer or when the value changes all the time. What was loaded stays while it is loaded again.
 */
import { Result } from "effect"
import { useCallback, useEffect, useState } from "preact/hooks"
import { type Call, call, type Failure } from "../client.ts"

/** The pause before the page tries again to reach the platform, in milliseconds. */
const RETRY_MILLIS = 3_000

export interface Loaded<A> {
  readonly value: A | undefined
  /** when it was loaded, by this machine's clock */
  readonly loadedAt: number
  readonly failure: Failure | undefined
  readonly loading: boolean
  readonly reload: () => void
}

/**
 * @param key what is loaded: another key is another value
 * @param everyMillis how often it is loaded again while the page is seen; only when asked, if absent
 */
export const useLoad = <A>(request: () => Call<A>, key: string, everyMillis?: number): Loaded<A> => {
  const [shown, setShown] = useState<{ readonly key: string; readonly value: A; readonly at: number }>()
  const [failure, setFailure] = useState<Failure>()
  const [loading, setLoading] = useState(true)
  const [turn, setTurn] = useState(0)
  const reload = useCallback(() => setTurn((before) => before + 1), [])

  useEffect(() => {
    let over = false
    let timer: number | undefined
    const again = (): void => {
      if (!document.hidden) reload()
    }
    const soon = (millis: number): void => {
      timer = window.setTimeout(again, millis)
      // A hidden page rests, and looks again when it is seen.
      document.addEventListener("visibilitychange", again)
      addEventListener("online", again)
    }
    setLoading(true)
    void call(request()).then((result) => {
      if (over) return
      setLoading(false)
      if (Result.isSuccess(result)) {
        setShown({ key, value: result.success, at: Date.now() })
        setFailure(undefined)
        if (everyMillis !== undefined) soon(everyMillis)
      } else {
        setFailure(result.failure)
        if (result.failure.kind === "unreachable") soon(RETRY_MILLIS)
      }
    })
    return () => {
      over = true
      clearTimeout(timer)
      document.removeEventListener("visibilitychange", again)
      removeEventListener("online", again)
    }
  }, [key, turn])

  return { value: shown?.key === key ? shown.value : undefined, loadedAt: shown?.at ?? 0, failure, loading, reload }
}
