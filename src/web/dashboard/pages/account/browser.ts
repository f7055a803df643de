/** A short name of a browser and its system, guessed from its user agent. For display only. */

const BROWSERS: ReadonlyArray<readonly [name: string, sign: RegExp]> = [
  ["Edge", /\bEdg(A|iOS)?\//],
  ["Opera", /\bOPR\//],
  ["Samsung Internet", /\bSamsungBrowser\//],
  ["Firefox", /\b(Firefox|FxiOS)\//],
  ["Chrome", /\b(Chrome|HeadlessChrome|CriOS)\//],
  ["Safari", /\bSafari\//],
]
const SYSTEMS: ReadonlyArray<readonly [name: string, sign: RegExp]> = [
  ["Android", /\bAndroid\b/],
  ["iPhone", /\biPhone\b/],
  ["iPad", /\biPad\b/],
  ["Windows", /\bWindows\b/],
  ["Mac", /\bMac OS X\b/],
  ["ChromeOS", /\bCrOS\b/],
  ["Linux", /\bLinux\b/],
]

const first = (all: typeof BROWSERS, text: string): string | undefined => all.find(([, sign]) => sign.test(text))?.[0]

/** Such as `Firefox on Windows`. */
export const browserOf = (userAgent: string): string => {
  const browser = first(BROWSERS, userAgent)
  const system = first(SYSTEMS, userAgent)
  if (browser === undefined) return system === undefined ? "Unknown browser" : `Unknown browser on ${system}`
  return system === undefined ? browser : `${browser} on ${system}`
}
