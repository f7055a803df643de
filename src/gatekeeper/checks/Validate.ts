/** Decodes and resolves the body of a request, or reports every invalid field and what was expected. */

import { Context, Effect, Layer, Result, Schema, SchemaIssue } from "effect"
import { plainExpectation } from "../../lib/plain-expectation.ts"
import { oneForm } from "../../lib/visible-text.ts"
import { NAME_METADATA, SUBJECT_METADATA } from "../../protocol/identity.ts"
import { type FieldIssue, InvalidRequest, stackless } from "../../protocol/refusals.ts"
import { type SessionConfig, SessionRequest } from "../../protocol/request.ts"
import { TRANSPORTS } from "../../settings/groups/campaign.ts"
import { type Campaign, Settings, type SettingsTree } from "../../settings/Settings.ts"
import { Campaigns } from "../Campaigns.ts"
import { tracing } from "../spans.ts"

export interface Validated {
  readonly campaign: Campaign
  readonly config: SessionConfig
  /** an existing ticket that the request names */
  readonly ticket: string | undefined
  /** the signed token in its body; undefined and empty for none */
  readonly token?: string | undefined
}

const decode = Schema.decodeUnknownResult(SessionRequest, { errors: "all" })
const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

/** Longer names are truncated in answers, because the caller chose them. */
const MAX_NAME = 64

/** Control characters, and lone surrogates, which UTF-8 cannot encode. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/gu

const pathOf = (path: ReadonlyArray<unknown>): string =>
  path
    .map((part) => (typeof part === "object" && part !== null && "key" in part ? part.key : part))
    .map((name) => String(name))
    .map((name) => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name))
    .join(".")
    .replace(UNPRINTABLE, "\ufffd")

/** An error that names each invalid field and what was expected. */
export const invalid = (code: InvalidRequest["code"], issues: ReadonlyArray<FieldIssue>): InvalidRequest =>
  stackless(
    () =>
      new InvalidRequest({
        code,
        issues,
        message: issues.map(({ field, message }) => (field === "" ? message : `${field}: ${message}`)).join("; "),
      }),
  )

export const unknownCampaign = (): InvalidRequest =>
  invalid("unknown_campaign", [{ field: "campaignId", message: "Expected a configured campaign" }])

/** Maximum issues in one answer, so that a hostile body cannot produce a long one. */
const MAX_ISSUES = 20

const NO_METADATA = {}

export type TextLimits = Pick<SettingsTree["Queue"], "MaxTicketBytes">

/** Maximum UTF-8 bytes of one UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3

/** The UTF-8 bytes of the caller's text that is stored with the ticket, names included. */
const textBytes = ({ clientIdentifier, dynamicVariables, metadata }: SessionRequest, maxBytes: number): number => {
  const sum = (sizeOf: (text: string) => number): number => {
    let total = sizeOf(clientIdentifier ?? "")
    for (const variables of [dynamicVariables, metadata]) {
      for (const name in variables) total += sizeOf(name) + sizeOf(variables[name] ?? "")
    }
    return total
  }
  // most requests are far below the limit, so their length suffices and nothing is encoded
  const units = sum(({ length }) => length)
  return units * MAX_BYTES_PER_UNIT <= maxBytes ? units : sum((text) => Buffer.byteLength(text))
}

/** The campaign that a body names, valid or not; undefined if it names none that exists. */
export const campaignOf = (campaigns: Campaigns["Service"], body: unknown): Campaign | undefined => {
  if (typeof body !== "object" || body === null) return undefined
  const id = "campaignId" in body ? body.campaignId : undefined
  return id === undefined || id === null || typeof id === "string" ? campaigns.find(id) : undefined
}

export const validate = (
  campaigns: Campaigns["Service"],
  { MaxTicketBytes }: TextLimits,
  body: unknown,
): Result.Result<Validated, InvalidRequest> => {
  const decoded = decode(body)
  if (Result.isFailure(decoded)) {
    const { issues } = formatIssue(decoded.failure.issue)
    return Result.fail(
      invalid(
        "invalid_request",
        issues.slice(0, MAX_ISSUES).map(({ message, path }) => ({
          field: pathOf(path ?? []),
          message: plainExpectation(message),
        })),
      ),
    )
  }
  const request = decoded.success
  const campaign = campaigns.find(request.campaignId)
  if (campaign === undefined) {
    return Result.fail(unknownCampaign())
  }
  const regionId = request.regionId ? request.regionId : campaign.DefaultRegionId
  if (!campaign.AllowedRegionIds.includes(regionId)) {
    return Result.fail(
      invalid("region_not_allowed", [
        { field: "regionId", message: `Expected one of ${campaign.AllowedRegionIds.join(", ")}` },
      ]),
    )
  }
  const allowed = campaign.AllowedTransportTypes
  const transportType = request.transportType ?? (allowed[0] === TRANSPORTS[1] ? 1 : 0)
  if (!allowed.includes(TRANSPORTS[transportType])) {
    const expected = allowed.map((name) => `${TRANSPORTS.indexOf(name)} (${name})`).join(" or ")
    return Result.fail(invalid("invalid_request", [{ field: "transportType", message: `Expected ${expected}` }]))
  }
  const reserved = [SUBJECT_METADATA, NAME_METADATA].find((name) =>
    Object.hasOwn(request.metadata ?? NO_METADATA, name),
  )
  if (reserved !== undefined) {
    const message = "Expected another name: it says who calls as the gate has verified"
    return Result.fail(invalid("invalid_request", [{ field: `metadata.${reserved}`, message }]))
  }
  const bytes = textBytes(request, MaxTicketBytes)
  if (bytes > MaxTicketBytes) {
    const message =
      "Expected dynamicVariables, metadata and clientIdentifier " +
      `of at most ${MaxTicketBytes} bytes together (UTF-8), got ${bytes}`
    return Result.fail(invalid("invalid_request", [{ field: "dynamicVariables", message }]))
  }
  return Result.succeed({
    campaign,
    ticket: request.uniqueRequestId ?? undefined,
    ...(request.identity ? { token: request.identity } : {}),
    config: {
      campaign: campaign.name,
      regionId,
      transportType,
      ...(request.clientIdentifier ? { clientIdentifier: oneForm(request.clientIdentifier) } : {}),
      dynamicVariables: request.dynamicVariables ?? {},
      metadata: request.metadata ?? {},
      audio: request.audioConfiguration ?? {},
    },
  })
}

export class Validate extends Context.Service<Validate, (body: unknown) => Effect.Effect<Validated, InvalidRequest>>()(
  "voicegate/gatekeeper/Validate",
) {}

export const layer: Layer.Layer<Validate, never, Campaigns | Settings> = Layer.effect(
  Validate,
  Effect.gen(function* () {
    const campaigns = yield* Campaigns
    const { Queue } = yield* Settings
    const traced = yield* tracing
    return traced(
      "Gatekeeper.validate",
      (body) => Effect.fromResult(validate(campaigns, Queue, body)),
      () => ({ result: ({ campaign }) => ({ "voicegate.campaign": campaign.name }) }),
    )
  }),
)
