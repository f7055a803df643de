/** The platform's embedded operation `InitiateWebSession`, as a session request. */

import { Result } from "effect"
import { unknownFields } from "../lib/unknown-field.ts"
import { DEFAULT_PLATFORM } from "../platform-api/vendors.ts"
import type { InvalidRequest } from "../protocol/refusals.ts"
import type { Campaigns } from "./Campaigns.ts"
import { invalid } from "./checks/Validate.ts"

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

/** The fields of the session request, by the names of `InitiateWebSession`. */
const NAMES: Readonly<Record<string, string>> = {
  campaignId: "WebCampaignId",
  regionId: "RegionId",
  dynamicVariables: "DynamicVariables",
}

/** Names what is invalid as the host has written it: `DynamicVariables.age`, not `dynamicVariables.age`. */
export const asWritten = <E extends { readonly _tag: string }>(error: E | InvalidRequest): E | InvalidRequest => {
  if (!isInvalid(error)) return error
  const issues = error.issues.map(({ field, message }) => ({
    field: field.replace(/^\w+/, (name) => NAMES[name] ?? name),
    message,
  }))
  return invalid(error.code, issues)
}

const isInvalid = (error: { readonly _tag: string }): error is InvalidRequest => error._tag === "InvalidRequest"

const NO_URL = "Expected a campaign of the default platform: the sessions of this one have no WebSocket URL"

/**
 * The equivalent body of a session request. Unknown fields are refused, with a suggestion. With `campaigns`, so is a campaign whose
 * sessions have no WebSocket URL.
 */
export const requestOf = (
  config: WebSessionConfig,
  campaigns?: Pick<Campaigns["Service"], "find">,
): Result.Result<unknown, InvalidRequest> => {
  const given: unknown = config
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const message = `Expected an object with ${Object.keys(FIELDS).join(", ")}, each of which may be absent`
    return Result.fail(invalid("invalid_request", [{ field: "", message }]))
  }
  const unknown = unknownFields(config, Object.keys(FIELDS))
  if (unknown.length > 0) return Result.fail(invalid("invalid_request", unknown))
  if ((campaigns?.find(config.WebCampaignId)?.Platform ?? DEFAULT_PLATFORM) !== DEFAULT_PLATFORM) {
    return Result.fail(invalid("invalid_request", [{ field: "WebCampaignId", message: NO_URL }]))
  }
  return Result.succeed({
    campaignId: config.WebCampaignId ?? null,
    regionId: config.RegionId ?? null,
    dynamicVariables: config.DynamicVariables ?? null,
  })
}
