/**
 * Loads a value of the platform: when the page appears, on request, repeatedly while the platform does not answer, and optionally at an
 * interval. The previous value stays while a new one is loaded.
 */
import { Result } from "effect"
import { useCallback, useEffect, useState } from "preact/hooks"
import { type Call, call, type Failure } from "../client.ts"

/** Delay before a retry if the platform does not answer, in milliseconds. */
const RETRY_MILLIS = 3_000

export interface Loaded<A> {
  readonly value: A | undefined
  /** when it was loaded, by this machine's clock (ms) */
  readonly loadedAt: number
  readonly failure: Failure | undefined
  readonly loading: boolean
  readonly reload: () => void
}

/**
 * @param key identifies the value: a new key loads another value
 * @param everyMillis interval at which it is reloaded while the page is visible, or what it is for a value; only on request if undefined
 */
export const useLoad = <A>(
  request: () => Call<A>,
  key: string,
  everyMillis?: number | ((value: A) => number | undefined),
): Loaded<A> => {
  const [shown, setShown] = useState<{ readonly key: string; readonly value: A; readonly at: number }>()
  const [failure, setFailure] = useState<Failure>()
  const [loading, setLoading] = useState(true)
  const [attempt, setTurn] = useState(0)
  const reload = useCallback(() => setTurn((before) => before + 1), [])

  useEffect(() => {
    let cancelled = false
    let timer: number | undefined
    const again = (): void => {
      if (!document.hidden) reload()
    }
    const soon = (millis: number): void => {
      timer = window.setTimeout(again, millis)
      // A hidden page does not reload until it is visible again.
      document.addEventListener("visibilitychange", again)
      addEventListener("online", again)
    }
    setLoading(true)
    void call(request()).then((result) => {
      if (cancelled) return
      setLoading(false)
      if (Result.isSuccess(result)) {
        setShown({ key, value: result.success, at: Date.now() })
        setFailure(undefined)
        const pause = typeof everyMillis === "function" ? everyMillis(result.success) : everyMillis
        if (pause !== undefined) soon(pause)
      } else {
        setFailure(result.failure)
        if (result.failure.kind === "unreachable") soon(RETRY_MILLIS)
      }
    })
    return () => {
      cancelled = true
      clearTimeout(timer)
      document.removeEventListener("visibilitychange", again)
      removeEventListener("online", again)
    }
  }, [key, attempt])

  return { value: shown?.key === key ? shown.value : undefined, loadedAt: shown?.at ?? 0, failure, loading, reload }
}
