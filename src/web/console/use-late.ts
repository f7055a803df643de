/** Whether something is awaited for longer than a moment: what is said at once, and is over at once, would only flicker. */
import { useEffect, useState } from "preact/hooks"

const MOMENT_MILLIS = 400

/** True once `waits` has been true for a moment, until it is false. */
export const useLate = (waits: boolean): boolean => {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    if (!waits) return
    const timer = setTimeout(() => setLate(true), MOMENT_MILLIS)
    return () => {
      clearTimeout(timer)
      setLate(false)
    }
  }, [waits])
  return waits && isLate
}
