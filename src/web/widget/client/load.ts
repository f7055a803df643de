/**
 * Loads the parts of the widget that only a visit needs, when it is first needed: before a place is taken, so that nothing is fetched
 * when it is the caller's turn. A part is a script beside the widget's own; where that one is missing, because a page hosts
 * the widget alone, it is loaded from the gate.
 *
 * A part may be newer than the widget that loads it, because a browser keeps scripts for a while: a part may export more, but no
 * export may change its meaning.
 */
import { withBlobOf } from "../audio/audio-script.ts"
import type { extend } from "../extras/extras.ts"
import type { createScreens } from "../screens/screens.ts"
import type { VendorsPart } from "../vendors.ts"
import type { openVisit } from "../visit/visit.ts"
import { gateUrl, type VoiceAgentOptions } from "./options.ts"

/** `visit.js`: request, queue and call. */
export interface VisitPart {
  readonly openVisit: typeof openVisit
}

/** `screens.js`: what the element shows of it. */
export interface ScreensPart {
  readonly createScreens: typeof createScreens
}

/** `extras.js`: what only some pages switch on. */
export interface ExtrasPart {
  readonly extend: typeof extend
}

/** The page's content security policy blocks the scripts of the gate (`script-src`). */
export class Forbidden extends Error {}

/** Whether a script is the part that exports this. */
const isPart = <Part extends object>(loaded: object, exported: keyof Part): loaded is Part => exported in loaded

const importFrom = async (address: string): Promise<object> => {
  const loaded: object = await import(/* @vite-ignore */ /* webpackIgnore: true */ /* turbopackIgnore: true */ address)
  return loaded
}

/**
 * A function that loads a part, once. It fails with `Forbidden`, or because the part cannot be reached; then it may be called again.
 *
 * @param beside loads the script beside the widget's own
 */
const part = <Part extends object>(
  name: string,
  exported: keyof Part,
  beside: () => Promise<object>,
): ((options: VoiceAgentOptions) => Promise<Part>) => {
  let loading: Promise<Part> | undefined
  let attempts = 0

  const usable = (loaded: object): Part => {
    if (!isPart<Part>(loaded, exported)) throw new Error(name)
    return loaded
  }

  const load = async (options: VoiceAgentOptions): Promise<Part> => {
    // some browsers do not request an address again that they could not load once
    const script = gateUrl(options, `widget/${name}.js?${attempts++}`)
    const loaded = await beside()
      // of another release, as one that a browser or an older gate had: asked for at another address
      .then(usable)
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
    return usable(loaded)
  }

  return (options) => {
    loading ??= load(options).catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }
}

export const loadVisit = part<VisitPart>("visit", "openVisit", () => import("../visit/visit.ts"))
export const loadScreens = part<ScreensPart>("screens", "createScreens", () => import("../screens/screens.ts"))
export const loadVendors = part<VendorsPart>("vendors", "prepareCall", () => import("../vendors.ts"))
export const loadExtras = part<ExtrasPart>("extras", "extend", () => import("../extras/extras.ts"))
