/**
 * What keeps a page from calling and only the site's owner can change: one message in the browser's console names the setting. The
 * visitor reads neutral words instead.
 */
import { answers, reaches } from "../gate/answers.ts"
import type { Refusal } from "../gate/gate-client.ts"
import { gateUrl, type VoiceAgentOptions } from "./options.ts"

const told = new Set<string>()

/** Writes a message to the console, once in the life of the page. */
export const tellOwner = (message: string): void => {
  if (told.has(message)) return
  told.add(message)
  console.error(`voicegate: ${message}`)
}

/** Origins that the page's content security policy keeps requests from. */
const blocked = new Set<string>()

/** Notes from now on what the page's content security policy blocks; there is no other way to learn it. */
export const watchPolicy = (): void => {
  document.addEventListener("securitypolicyviolation", ({ blockedURI, disposition, effectiveDirective }) => {
    if (disposition !== "enforce" || effectiveDirective !== "connect-src" || !URL.canParse(blockedURI)) return
    blocked.add(new URL(blockedURI).origin)
  })
}

/** How long a browser may take to report what it blocked, in milliseconds. */
const REPORT_WITHIN = 50
/**
 * Whether this page can never reach the gate, after a request had no answer: its policy blocks requests, or the gate does not allow its
 * origin. The browser tells neither, so the second is inferred: the gate serves its scripts to any page, and only to this page's
 * requests there is no answer. False when it may just be the network.
 */
export const isShutOut = async (options: VoiceAgentOptions): Promise<boolean> => {
  await new Promise((resolve) => window.setTimeout(resolve, REPORT_WITHIN))
  const script = gateUrl(options, "widget/audio.js")
  const { host, origin } = script
  if (blocked.has(origin)) {
    const push = origin.replace(/^http/, "ws")
    tellOwner(`the Content-Security-Policy of this page blocks ${host}: add ${origin} and ${push} to connect-src`)
    return true
  }
  if (origin === location.origin || !navigator.onLine) return false
  // Before and after, so that a network that comes back in between proves nothing.
  if (!(await reaches(script)) || (await answers(gateUrl(options, "api/session/-"), {})) || !(await reaches(script)))
    return false
  tellOwner(
    `the gate at ${host} does not allow this page: add ${location.origin} to its setting Security.AllowedOrigins`,
  )
  return true
}

/** Says what is behind a refusal of the gate, if it is something that a visitor cannot change. */
export const explainRefusal = (
  { code, issues }: Pick<Refusal, "code" | "issues">,
  { campaign = "", region = "" }: VoiceAgentOptions,
): void => {
  // not an error of the page alone: a value may be what the visitor has entered there
  if (code === "invalid_request") console.warn(`voicegate: the gate does not accept ${issues.join("; ")}`)
  else if (code === "unknown_campaign")
    tellOwner(
      `the gate has no campaign "${campaign}": correct the attribute campaign, or add it to VoiceAiPlatform.Campaigns`,
    )
  else if (code === "region_not_allowed")
    tellOwner(
      `the gate does not allow the region "${region}": correct the attribute region, or add it to AllowedRegionIds`,
    )
}

interface PermissionsPolicy {
  readonly allowsFeature: (feature: string) => boolean
}

declare global {
  interface Document {
    /** of Chromium */
    readonly featurePolicy?: PermissionsPolicy
  }
}

/** Whether the page itself, not the visitor, keeps the microphone off; asked after the browser has refused it. */
export const forbidsMicrophone = (): boolean => {
  if (document.featurePolicy?.allowsFeature("microphone") !== false) return false
  tellOwner(
    window.top === window
      ? "this page may not use the microphone: allow it in its Permissions-Policy header, microphone=(self)"
      : 'this page is in an <iframe> that may not use the microphone: add allow="microphone" to the <iframe>',
  )
  return true
}
