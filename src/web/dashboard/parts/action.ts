/** An action of the user: whether it is in progress, and why it failed. While in progress, it cannot be started again. */
import { Result } from "effect"
import { useRef, useState } from "preact/hooks"
import { type Call, call, type Failure } from "../client.ts"

export interface Action {
  readonly busy: boolean
  readonly failure: Failure | undefined
  /** Runs `done` with the result. */
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
