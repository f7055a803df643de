/** Turns a request's body into what can be queued and started, or says which fields are wrong and what was expected. */
import { Result, Schema, SchemaIssue } from "effect"
import { type FieldIssue, InvalidRequest, type SessionConfig, SessionRequest, stackless } from "../Session.ts"
import { type Campaign, type SettingsTree, TRANSPORTS } from "../Settings.ts"
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

/** What must not reach a log or a terminal; half a character has no form in UTF-8. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/gu

const pathOf = (path: ReadonlyArray<unknown>): string =>
  path
    .map((part) => (typeof part === "object" && part !== null && "key" in part ? part.key : part))
    .map((name) => String(name))
    .map((name) => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name))
    .join(".")
    .replace(UNPRINTABLE, "\ufffd")

/** A refusal that names each wrong field and what was expected. */
export const invalid = (code: InvalidRequest["code"], issues: ReadonlyArray<FieldIssue>): InvalidRequest =>
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

/** How much text a caller may choose. */
export type TextLimits = Pick<SettingsTree["Queue"], "MaxTicketBytes">

/** No UTF-16 unit takes more bytes of UTF-8. */
const MOST_BYTES_A_UNIT = 3

/** The UTF-8 bytes of the text that the caller chose and the ticket keeps, names included. */
const textBytes = ({ clientIdentifier, dynamicVariables, metadata }: SessionRequest, most: number): number => {
  const texts = [clientIdentifier ?? ""]
  for (const variables of [dynamicVariables, metadata]) {
    for (const name in variables) texts.push(name, variables[name] ?? "")
  }
  // most requests are far below the limit, which their length shows without encoding them
  const units = texts.reduce((sum, text) => sum + text.length, 0)
  if (units * MOST_BYTES_A_UNIT <= most) return units
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}

/** Validates a body against the schema and the settings. */
export const validate = (
  campaigns: Campaigns,
  { MaxTicketBytes }: TextLimits,
  body: unknown,
): Result.Result<Validated, InvalidRequest> => {
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
  const allowed = campaign.AllowedTransportTypes.map((name) => TRANSPORTS.indexOf(name))
  const transportType = asked.transportType ?? (allowed[0] === 1 ? 1 : 0)
  if (!allowed.includes(transportType)) {
    const expected = allowed.map((type) => `${type} (${TRANSPORTS[type]})`).join(" or ")
    return Result.fail(invalid("invalid_request", [{ field: "transportType", message: `Expected ${expected}` }]))
  }
  const bytes = textBytes(asked, MaxTicketBytes)
  if (bytes > MaxTicketBytes) {
    const message =
      "Expected dynamicVariables, metadata and clientIdentifier " +
      `of at most ${MaxTicketBytes} bytes together (UTF-8), got ${bytes}`
    return Result.fail(invalid("invalid_request", [{ field: "dynamicVariables", message }]))
  }
  return Result.succeed({
    campaign,
    ticket: asked.uniqueRequestId ?? undefined,
    config: {
      campaign: campaign.name,
      regionId,
      transportType,
      ...(asked.clientIdentifier ? { clientIdentifier: asked.clientIdentifier } : {}),
      dynamicVariables: asked.dynamicVariables ?? {},
      metadata: asked.metadata ?? {},
      audio: asked.audioConfiguration ?? {},
    },
  })
}
