/** Where the line of a call runs: in a worker, which a busy page does not delay, or in the page where no worker is allowed. */
import { withBlobOf } from "../audio/audio-script.ts"
import { type Line, type LineEvent, type LineRequest, openLine } from "./line.ts"
import type { ToWorker } from "./line-worker.ts"

export interface Carrier {
  /** Opens the line, once. */
  readonly open: (request: LineRequest, report: (event: LineEvent) => void) => Line
  /** Releases the worker, if no line was opened. */
  readonly close: () => void
}

/** How long a worker may take to start, in milliseconds. */
const START_WITHIN = 3_000

/** The name of the policy that a page with Trusted Types must allow. */
const POLICY = "voicegate"

interface TrustedTypes {
  readonly createPolicy: (
    name: string,
    rules: { readonly createScriptURL: (url: string) => string },
  ) => { readonly createScriptURL: (url: string) => string }
}

declare global {
  interface Window {
    readonly trustedTypes?: TrustedTypes
  }
}

let policy: ReturnType<TrustedTypes["createPolicy"]> | undefined
/** Marks the address of our own script as trusted, where the page demands it. */
const trusted = (url: string): string => {
  policy ??= window.trustedTypes?.createPolicy(POLICY, { createScriptURL: (own) => own })
  return policy?.createScriptURL(url) ?? url
}

/** A worker that runs. Fails where the page forbids it. */
const start = (url: string): Promise<Worker> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(trusted(url))
    const fail = (): void => {
      worker.terminate()
      reject()
    }
    const tooLate = window.setTimeout(fail, START_WITHIN)
    worker.onerror = fail
    worker.onmessage = () => {
      window.clearTimeout(tooLate)
      resolve(worker)
    }
  })

/** Whether this page forbids workers: it would again, and each attempt is an error in its console. */
let forbidden = false

const inPage: Carrier = { open: openLine, close: () => {} }

/** Prepares a carrier; `script` is the address of `audio.js`. */
export const openCarrier = async (script: URL): Promise<Carrier> => {
  if (forbidden) return inPage
  let worker: Worker
  try {
    // A worker of another origin's script is not possible, but one of the same code in a blob is.
    worker = await (script.origin === location.origin ? start(script.href) : withBlobOf(script, start))
  } catch {
    forbidden = true
    return inPage
  }
  const post = (message: ToWorker, transfer: Array<Transferable> = []): void => worker.postMessage(message, transfer)
  let used = false
  return {
    open: (request, report) => {
      used = true
      // a script that has failed hears and says nothing any more
      worker.onerror = () => {
        worker.terminate()
        report({ type: "ended", how: "lost" })
        report({ type: "closed", clean: false })
      }
      worker.onmessage = ({ data }: MessageEvent<LineEvent>) => {
        if (data.type === "closed") worker.terminate()
        report(data)
      }
      post(request, [request.capture, request.playback])
      return { send: (text) => post({ send: text }), hangUp: () => post("hang-up") }
    },
    close: () => {
      if (!used) worker.terminate()
    },
  }
}
