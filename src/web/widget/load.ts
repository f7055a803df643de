/**
 * Loads the parts of the widget that only a visit needs, when it is first needed: before a place is taken, so that nothing is fetched
 * when it is the caller's turn. A part is a script beside the widget's own; where that one is missing, because a page hosts
 * the widget alone, it is loaded from the gate.
 *
 * A part may be newer than the widget that loads it, because a browser keeps scripts for a while: what a part exports may grow, and
 * nothing of it may change its meaning.
 */
import { withBlobOf } from "./audio-script.ts"
import { gateUrl, type VoiceAgentOptions } from "./options.ts"
import type { createScreens } from "./screens.ts"
import type { openVisit } from "./visit.ts"

/** `visit.js`: request, queue and call. */
export interface VisitPart {
  readonly openVisit: typeof openVisit
}

/** `screens.js`: what the element shows of it. */
export interface ScreensPart {
  readonly createScreens: typeof createScreens
}

/** The page's content security policy blocks the scripts of the gate (`script-src`). */
export class Forbidden extends Error {}

const isVisitPart = (part: object): part is VisitPart => "openVisit" in part
const isScreensPart = (part: object): part is ScreensPart => "createScreens" in part

const importFrom = async (address: string): Promise<object> => {
  const loaded: object = await import(/* @vite-ignore */ address)
  return loaded
}

/**
 * A function that loads a part, once. It fails with `Forbidden`, or because the part cannot be reached; then it may be called again.
 *
 * @param beside loads the script beside the widget's own
 */
const part = <Part extends object>(
  file: string,
  beside: () => Promise<object>,
  isPart: (loaded: object) => loaded is Part,
): ((options: VoiceAgentOptions) => Promise<Part>) => {
  let loading: Promise<Part> | undefined
  let attempts = 0

  const load = async (options: VoiceAgentOptions): Promise<Part> => {
    // some browsers do not request an address again that they could not load once
    const script = gateUrl(options, `widget/${file}?${attempts++}`)
    const loaded = await beside()
      .catch(() => importFrom(script.href))
      .catch(async () => {
        let forbidden: unknown
        const blob = await withBlobOf(script, (address) =>
          importFrom(address).catch((cause: unknown) => {
            forbidden = cause
            return {}
          }),
        )
        if (forbidden !== undefined) throw new Forbidden(script.origin, { cause: forbidden })
        return blob
      })
    if (!isPart(loaded)) throw new Error(`${script} is no part of the widget`)
    return loaded
  }

  return (options) => {
    loading ??= load(options).catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }
}

export const loadVisit = part("visit.js", () => import("./visit.ts"), isVisitPart)
export const loadScreens = part("screens.js", () => import("./screens.ts"), isScreensPart)
