/** A client of the REST API, and the body of a session request. */
import { Effect, Redacted, Schema } from "effect"

const readEnvelope = Schema.decodeUnknownSync(
  Schema.Struct({
    success: Schema.Boolean,
    code: Schema.NullOr(Schema.String),
    message: Schema.NullOr(Schema.String),
    // asserted on, field by field
    data: Schema.Any,
  }),
)

/** Calls an endpoint with a key, and reads the envelope of the answer. A text is sent as it is. */
export const restClient =
  (baseUrl: string) => (secret: Redacted.Redacted<string>, method: string, path: string, body?: unknown) =>
    Effect.promise(async () => {
      const response = await fetch(baseUrl + path, {
        method,
        headers: { authorization: `Token ${Redacted.value(secret)}`, "content-type": "application/json" },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      })
      const envelope = readEnvelope(await response.json())
      return { status: response.status, headers: response.headers, ...envelope }
    })

const audio = { sampleRate: 16000, bitsPerSample: 16, audioEncodingType: 1, audioEncodingFallbackMode: 0 }
export const sessionRequest = {
  transportType: 0,
  webCampaignId: "c1",
  regionId: "eu",
  clientIdentifier: "me",
  audioInputConfiguration: audio,
  audioOutputConfiguration: { ...audio, frameDurationMs: 30 },
}
