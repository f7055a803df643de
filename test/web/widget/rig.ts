/** The widget on the demo's page in a real browser, in front of a gate and a platform of each test's own. */
import type { Browser, Page } from "playwright-core"
import { afterEach, beforeAll, expect } from "vitest"
import { sharedBrowser } from "../../support/browser.ts"
import { type Built, type Options, type Rig, startRig, whenWebBuilt } from "../rig.ts"
import { type Visitor, visit } from "../visitor.ts"

/** Options of the browser's context. */
export type Browsing = Parameters<typeof visit>[1]

/** A browser for the tests of a file; each begins with `begin`, and may cause no error on the page. */
export const useWidget = () => {
  let built: Built
  let browser: Browser
  let rig: Rig
  let visitor: Visitor

  beforeAll(async () => {
    ;[built, browser] = await Promise.all([whenWebBuilt(), sharedBrowser()])
  })

  afterEach(async () => {
    await visitor.context.close()
    await rig.stop()
    expect(visitor.complaints).toEqual([])
  })

  return {
    get rig() {
      return rig
    },
    get visitor() {
      return visitor
    },
    /** Starts a gate and a platform, for a visitor who has not been there. */
    begin: async (options: Options = {}, browsing: Browsing = {}): Promise<void> => {
      rig = await startRig(built, options)
      visitor = await visit(browser, browsing)
    },
    /** Opens the demo's page in a new tab. */
    open: (): Promise<Page> => visitor.open(rig.url),
  }
}
