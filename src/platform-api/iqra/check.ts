/**
 * Checks a campaign's settings with harmless reads: whether there is a platform at the address, whether the key may use the
 * business, and whether the web campaign and the region exist. What the platform does not reveal is reported as not checked.
 */
import { Effect, Schema } from "effect"
import type { Campaign } from "../../settings/Settings.ts"
import type { PlatformError } from "../errors.ts"
import { faultAt, settingPath } from "../faults.ts"
import type { Finding } from "../model.ts"
import type { Call } from "../requests/transport.ts"
import { addressOf } from "../shared/broken-settings.ts"
import { BusinessData, RegionsData, WebCampaignData } from "./wire.ts"

type Read = <A>(data: Schema.Decoder<A>, call: Call) => Effect.Effect<A, PlatformError>

const get = (path: string): Call => ({ kind: "read", method: "GET", path })

const nameIn = (data: { readonly name?: string | null | undefined } | null | undefined): string =>
  data?.name ? ` (${data.name})` : ""

/**
 * A refusal without a code did not come from the platform's API, whose refusals have one, except those of the key. A server that speaks TLS
 * answers plain HTTP with 400.
 */
const isNotPlatform = ({ reason }: PlatformError): boolean =>
  reason._tag === "Refused" &&
  // the local platform says so itself when the address leads to another part of it
  (reason.code === "ROUTE_NOT_FOUND" ||
    (reason.code === "" && reason.status >= 400 && ![401, 403].includes(reason.status)))

/** What of an address is probably wrong at which no platform answers: that of another part of it, without the path of its API. */
const pathHint = ({ BaseUrl }: Campaign): string =>
  /\/api\/v\d+\/$/.test(BaseUrl) ? "" : `; the path is probably missing: ${BaseUrl.replace(/\/api\/$/, "/")}api/v1`

const codeOf = ({ reason }: PlatformError): string =>
  reason._tag === "Refused" && reason.code ? ` (${reason.code})` : ""

/** Why the business cannot be read, with the setting to check. */
const failureOf = (campaign: Campaign, path: string, error: PlatformError): Finding => {
  const { message, reason } = error
  const failed = (setting: string, detail: string, other?: string): Finding => ({
    subject: "platform",
    state: "failed",
    detail: `${[setting, ...(other === undefined ? [] : [other])].map((each) => settingPath(campaign.name, each)).join(" or ")}: ${detail}${codeOf(error)}`,
    ...faultAt(setting, error),
  })
  if (reason._tag === "AtCapacity" || reason._tag === "KeyRateLimited") {
    return {
      subject: "platform",
      state: "not_checked",
      detail: `the platform accepts no more requests of this key now: ${message}`,
      answers: true,
    }
  }
  if (isNotPlatform(error)) {
    return failed(
      "BaseUrl",
      `there is no platform API at this address: the answer to ${path} is not in the platform's format (${message})` +
        (reason._tag === "Refused" && reason.status === 400 && campaign.BaseUrl.startsWith("http://")
          ? "; if the server speaks TLS, the address begins with https://"
          : reason._tag === "Refused" && reason.status === 404
            ? pathHint(campaign)
            : ""),
    )
  }
  if (reason._tag === "Unavailable" && reason.reason === "server_error") {
    return { ...failed("BaseUrl", message), detail: `the platform fails: ${message}` }
  }
  if (reason._tag === "Unavailable") {
    return failed("BaseUrl", reason.reason === "malformed" ? `${message}${pathHint(campaign)}` : message)
  }
  if (reason.code === "RESTRICTED_API_KEY") {
    // The platform does not reveal whether the business exists, so either the key or the id may be wrong.
    return failed("BusinessId", message, "ApiSecretToken")
  }
  return failed(reason.code.startsWith("BUSINESS_") ? "BusinessId" : "ApiSecretToken", message)
}

/** Handles the failure of a read that some platforms or keys do not support: only the codes in `known` are a failure. */
const failedIfKnown = (
  subject: Finding["subject"],
  campaign: Campaign,
  known: { readonly setting: string; readonly code: RegExp },
) =>
  Effect.catch((error: PlatformError): Effect.Effect<Finding> => {
    const { message, reason } = error
    return Effect.succeed(
      reason._tag === "Refused" && known.code.test(reason.code)
        ? {
            subject,
            state: "failed",
            detail: `${settingPath(campaign.name, known.setting)}: ${message}${codeOf(error)}`,
            ...faultAt(known.setting, error),
          }
        : {
            subject,
            state: "not_checked",
            detail: `${reason._tag === "Refused" ? "the platform does not reveal it to this key" : "it could not be read"}: ${message}${codeOf(error)}`,
          },
    )
  })

const platformFinding = (read: Read, campaign: Campaign): Effect.Effect<Finding> => {
  const path = `business/${encodeURIComponent(campaign.BusinessId)}`
  return read(Schema.UndefinedOr(Schema.NullOr(BusinessData)), get(path)).pipe(
    Effect.map(
      (found): Finding => ({
        subject: "platform",
        state: "ok",
        detail: `reachable; the key may use business ${campaign.BusinessId}${nameIn(found)}`,
      }),
    ),
    Effect.catch((error) => Effect.succeed(failureOf(campaign, path, error))),
  )
}

const campaignFinding = (read: Read, campaign: Campaign): Effect.Effect<Finding> => {
  const { BusinessId, WebCampaignId } = campaign
  const path = `business/${encodeURIComponent(BusinessId)}/webcampaigns/${encodeURIComponent(WebCampaignId)}`
  return read(WebCampaignData, get(path)).pipe(
    Effect.map(({ name, sessionEnded }): Finding => {
      const webhook =
        sessionEnded === undefined
          ? ""
          : sessionEnded === null
            ? "; it has no session-ended webhook, so slots are freed late"
            : `; its session-ended webhook goes to ${addressOf(sessionEnded.url)}`
      return { subject: "web campaign", state: "ok", detail: `${WebCampaignId}${nameIn({ name })} exists${webhook}` }
    }),
    failedIfKnown("web campaign", campaign, { setting: "WebCampaignId", code: /CAMPAIGN/ }),
  )
}

const regionFinding = (read: Read, campaign: Campaign): Effect.Effect<Finding> =>
  read(RegionsData, get("regions")).pipe(
    Effect.map((regions): Finding => {
      const known = regions.map(({ id }) => id)
      const missing = campaign.AllowedRegionIds.filter((region) => !known.includes(region))
      if (missing.length === 0) return { subject: "region", state: "ok", detail: campaign.AllowedRegionIds.join(", ") }
      const setting = missing.includes(campaign.DefaultRegionId) ? "DefaultRegionId" : "AllowedRegionIds"
      const detail = `the platform has no region ${missing.join(", ")}; it has ${known.join(", ") || "none"}`
      const path = settingPath(campaign.name, setting)
      const failed = { subject: "region", state: "failed", detail: `${path}: ${detail}` } as const
      // a region that only some callers ask for is not everybody's fault
      return setting === "AllowedRegionIds"
        ? failed
        : { ...failed, fault: { state: "rejected", code: "REGION_NOT_FOUND", setting } }
    }),
    failedIfKnown("region", campaign, { setting: "DefaultRegionId", code: /REGION/ }),
  )

/** Runs the checks one after the other; when the platform check fails, the others are skipped. */
export const checkWith = Effect.fnUntraced(function* (
  read: Read,
  campaign: Campaign,
): Effect.fn.Return<ReadonlyArray<Finding>> {
  const platform = yield* platformFinding(read, campaign)
  const skipped = (subject: Finding["subject"]): Finding => ({
    subject,
    state: "not_checked",
    detail: "skipped, because the previous check failed",
  })
  if (platform.state !== "ok") return [platform, skipped("web campaign"), skipped("region")]
  return [platform, yield* campaignFinding(read, campaign), yield* regionFinding(read, campaign)]
})
