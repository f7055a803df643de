/** The platform's embedded operation `InitiateWebSession`, as a session request. */
import { Result } from "effect"
import type { InvalidRequest } from "../Session.ts"
import { unknownFields } from "../unknown-field.ts"
import type { Campaigns } from "./campaigns.ts"
import { invalid } from "./validate.ts"

/** The input of `InitiateWebSession`. */
export interface WebSessionConfig {
  /** a configured campaign, by name or web campaign id; the default one when absent */
  readonly WebCampaignId?: string
  readonly RegionId?: string
  readonly DynamicVariables?: Readonly<Record<string, string>>
}

const FIELDS = { WebCampaignId: true, RegionId: true, DynamicVariables: true } satisfies {
  readonly [K in keyof Required<WebSessionConfig>]: true
}

const NO_URL = "Expected a campaign of the default platform: the sessions of this one have no WebSocket URL"

/**
 * The equivalent body of a session request. Unknown fields are refused, with a suggestion. With `campaigns`, so is a campaign whose
 * sessions have no WebSocket URL.
 */
export const requestOf = (
  config: WebSessionConfig,
  campaigns?: Pick<Campaigns, "find">,
): Result.Result<unknown, InvalidRequest> => {
  const unknown = unknownFields(config, Object.keys(FIELDS))
  if (unknown.length > 0) return Result.fail(invalid("invalid_request", unknown))
  if ((campaigns?.find(config.WebCampaignId)?.Platform ?? "iqra") !== "iqra") {
    return Result.fail(invalid("invalid_request", [{ field: "WebCampaignId", message: NO_URL }]))
  }
  return Result.succeed({
    campaignId: config.WebCampaignId ?? null,
    regionId: config.RegionId ?? null,
    dynamicVariables: config.DynamicVariables ?? null,
  })
}
