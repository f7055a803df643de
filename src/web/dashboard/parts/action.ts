/** Something the user asked for: whether it is under way, and why it failed. A second press meanwhile does nothing. */
import { Result } from "effect"
import { useRef, useState } from "preact/hooks"
import { type Call, call, type Failure } from "../client.ts"

export interface Action {
  readonly busy: boolean
  readonly failure: Failure | undefined
  /** Runs `done` with what was answered. */
  readonly run: <A>(request: Call<A>, done: (value: A) => void) => Promise<void>
}

export const useAction = (): Action => {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  const running = useRef(false)
  return {
    busy,
    failure,
    run: async (request, done) => {
      if (running.current) return
      running.current = true
      setBusy(true)
      setFailure(undefined)
      const result = await call(request)
      running.current = false
      setBusy(false)
      if (Result.isSuccess(result)) done(result.success)
      else setFailure(result.failure)
    },
  }
}
