/**
 * What a failed call says about the platform itself: a code that stays the same whatever the platform's text is, and the setting that an
 * operator should check. A fault is the same for every caller.
 */
import type { Campaign } from "../settings/Settings.ts"
import type { PlatformError, Refused, RequestRefused } from "./errors.ts"
import type { Fault, Finding } from "./model.ts"
import { DEFAULT_PLATFORM, vendorOf } from "./vendors.ts"

export const settingPath = (campaign: string, setting: string): string =>
  campaign === "default" ? `VoiceAiPlatform.${setting}` : `VoiceAiPlatform.Campaigns.${campaign}.${setting}`

/** How platforms say that the account has no credit, whatever the status. */
const NO_CREDIT = /credit|balance|billing|payment|funds/i

const MAX_CODE = 64

/** One word that is safe in a log and as a label of a metric. */
const codeOf = (text: string): string => text.replace(/[^\w.:-]+/g, "_").slice(0, MAX_CODE)

const defaultSetting = (status: number, code: string): string => {
  if (code.includes("REGION")) return "DefaultRegionId"
  if (code.includes("CAMPAIGN")) return "WebCampaignId"
  if (code.startsWith("BUSINESS_")) return "BusinessId"
  // the platform's own refusals have a code
  return code === "" && [404, 405, 501].includes(status) ? "BaseUrl" : "ApiSecretToken"
}

/** The fault behind a failed call; undefined if it says nothing about the platform, or only that it is full. */
export const faultOf = (Platform: Campaign["Platform"], { reason }: PlatformError): Fault | undefined => {
  const blamed = vendorOf(Platform)?.blames
  switch (reason._tag) {
    case "Unavailable":
      // an answer that the platform's documentation does not have came from another address
      return reason.reason === "malformed" && !reason.mayHaveHappened
        ? { state: "rejected", code: "malformed", setting: blamed?.address ?? "BaseUrl" }
        : { state: "unavailable", code: reason.reason, setting: "" }
    case "Refused": {
      const { code, message, status } = reason
      const isOfAccount = status === 402 || NO_CREDIT.test(`${code} ${message}`)
      const setting = blamed === undefined ? defaultSetting(status, code) : status === 404 ? blamed.agent : blamed.key
      return {
        state: "rejected",
        code: codeOf(code === "" ? `HTTP_${status}` : code),
        setting: isOfAccount ? "" : setting,
      }
    }
    default:
      return undefined
  }
}

/**
 * The fault behind starts that are refused for their content, once everybody's are: a vendor refuses an agent that it does not have like
 * this, and a server that speaks TLS refuses plain HTTP.
 */
export const faultOfEverybody = (
  Platform: Campaign["Platform"],
  { code, status }: Pick<RequestRefused, "code" | "status">,
): Fault => ({
  state: "rejected",
  code: codeOf(code === "" ? `HTTP_${status}` : code),
  setting: vendorOf(Platform)?.blames.agent ?? (code === "" ? "BaseUrl" : "WebCampaignId"),
})

/** Codes of a refused key or account. */
const OF_ACCOUNT = new Set(["API_KEY_INVALID", "KEY_NOT_FOUND", "USER_DISABLED", "BUSINESS_DISABLED"])

/** Whether a refusal is one of the key or the account, which no caller can cause. */
export const isOfAccount = ({ code, status }: Pick<Refused, "code" | "status">): boolean =>
  status === 401 || status === 402 || OF_ACCOUNT.has(code)

/** Codes of refusals that a start would meet too. A key that may not read something may still start calls. */
const OF_STARTS = /^(?:API_KEY_INVALID|KEY_NOT_FOUND|\w+_NOT_FOUND|\w+_DISABLED)$/

/** What a failed read says about the platform, for a check that knows which setting is wrong. */
export const faultAt = (setting: string, error: PlatformError): Pick<Finding, "fault" | "answers"> => {
  const { reason } = error
  const fault = faultOf(DEFAULT_PLATFORM, error)
  if (fault === undefined || reason._tag !== "Refused") return fault === undefined ? { answers: true } : { fault }
  const concernsStarts = reason.status === 401 || reason.status === 402 || OF_STARTS.test(reason.code)
  return concernsStarts ? { fault: { ...fault, setting: fault.setting === "" ? "" : setting } } : { answers: true }
}

/** What the findings of a check say about the platform: a fault, that it works or at least answers, or undefined for nothing. */
export const verdictOf = (findings: ReadonlyArray<Finding>): Fault | "ok" | "answers" | undefined => {
  for (const { fault } of findings) if (fault !== undefined) return fault
  if (findings.some(({ answers }) => answers === true)) return "answers"
  return findings.some(({ state, subject }) => subject === "platform" && state === "ok") ? "ok" : undefined
}
