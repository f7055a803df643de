/** The visitor's microphone: opened with what a call needs of it. The visitor may choose one, which this browser then remembers. */
import { forbidsMicrophone } from "../client/owner.ts"
import type { MicrophoneProblem } from "../client/state.ts"

/** Audio cannot be captured. */
export class NoSound extends Error {
  readonly problem: MicrophoneProblem

  constructor(problem: MicrophoneProblem, cause?: unknown) {
    super(`no sound: ${problem}`, { cause })
    this.problem = problem
  }
}

const KEY = "voicegate.microphone"

/** The id of the chosen device; undefined for the browser's choice. */
export const chosenMicrophone = (): string | undefined => {
  try {
    return localStorage.getItem(KEY) ?? undefined
  } catch {
    // Storage is disabled.
    return undefined
  }
}

export const chooseMicrophone = (id: string): void => {
  try {
    localStorage.setItem(KEY, id)
  } catch {
    // The choice lasts until the page goes.
  }
}

/** Opens the microphone: the chosen one if it is there. Fails with `NoSound`. */
export const openMicrophone = async (): Promise<MediaStream> => {
  // Absent in browsers unless the page is on https or on localhost.
  if (!("mediaDevices" in navigator)) throw new NoSound("insecure")
  const chosen = chosenMicrophone()
  const audio = {
    echoCancellation: true,
    noiseSuppression: true,
    autoGainControl: true,
    channelCount: 1,
    ...(chosen === undefined ? {} : { deviceId: { ideal: chosen } }),
  }
  try {
    return await navigator.mediaDevices.getUserMedia({ audio })
  } catch (cause) {
    const problem = problemOf(cause)
    throw new NoSound(problem === "denied" && forbidsMicrophone() ? "no-sound" : problem, cause)
  }
}

export const problemOf = (cause: unknown): MicrophoneProblem => {
  const name = cause instanceof DOMException ? cause.name : ""
  if (name === "NotAllowedError" || name === "SecurityError") return "denied"
  return name === "NotReadableError" || name === "AbortError" ? "busy" : "missing"
}
