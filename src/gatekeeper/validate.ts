/** Turns a request's body into what can be queued and started, or says which fields are wrong and what was expected. */
import { Result, Schema, SchemaIssue } from "effect"
import { type FieldIssue, InvalidRequest, type SessionConfig, SessionRequest, stackless } from "../Session.ts"
import type { Campaign } from "../Settings.ts"
import type { Campaigns } from "./campaigns.ts"

export interface Validated {
  readonly campaign: Campaign
  readonly config: SessionConfig
  /** the ticket to be answered again, if the request names one */
  readonly ticket: string | undefined
}

const decode = Schema.decodeUnknownResult(SessionRequest, { errors: "all" })
const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** The most of a name that is repeated in an answer: the caller chose it. */
const MAX_NAME = 64

const pathOf = (path: ReadonlyArray<unknown>): string =>
  path
    .map((part) => (typeof part === "object" && part !== null && "key" in part ? part.key : part))
    .map((name) => String(name))
    .map((name) => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name))
    .join(".")

const invalid = (code: InvalidRequest["code"], issues: ReadonlyArray<FieldIssue>): InvalidRequest =>
  stackless(
    () =>
      new InvalidRequest({
        code,
        issues,
        message: issues.map(({ field, message }) => (field === "" ? message : `${field}: ${message}`)).join("; "),
      }),
  )

/** The most problems named at once; a hostile body must not make a long answer. */
const MAX_ISSUES = 20

/** Validates a body against the schema and the settings. */
export const validate = (campaigns: Campaigns, body: unknown): Result.Result<Validated, InvalidRequest> => {
  const decoded = decode(body)
  if (Result.isFailure(decoded)) {
    const { issues } = formatIssue(decoded.failure.issue)
    return Result.fail(
      invalid(
        "invalid_request",
        issues.slice(0, MAX_ISSUES).map(({ message, path }) => ({ field: pathOf(path ?? []), message })),
      ),
    )
  }
  const asked = decoded.success
  const campaign = campaigns.find(asked.campaignId)
  if (campaign === undefined) {
    return Result.fail(
      invalid("unknown_campaign", [{ field: "campaignId", message: "Expected a configured campaign" }]),
    )
  }
  const regionId = asked.regionId ? asked.regionId : campaign.DefaultRegionId
  if (!campaign.AllowedRegionIds.includes(regionId)) {
    return Result.fail(
      invalid("region_not_allowed", [
        { field: "regionId", message: `Expected one of ${campaign.AllowedRegionIds.join(", ")}` },
      ]),
    )
  }
  return Result.succeed({
    campaign,
    ticket: asked.uniqueRequestId ?? undefined,
    config: {
      campaign: campaign.name,
      regionId,
      transportType: asked.transportType ?? 0,
      ...(asked.clientIdentifier ? { clientIdentifier: asked.clientIdentifier } : {}),
      dynamicVariables: asked.dynamicVariables ?? {},
      metadata: asked.metadata ?? {},
      audio: asked.audioConfiguration ?? {},
    },
  })
}
