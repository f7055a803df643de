/** The request's body, checked by hand: the gate's fields, and nothing of its lists of errors. */

const isText = (value: unknown, most: number): boolean =>
  value === undefined || (typeof value === "string" && value.length > 0 && value.length <= most)

const isCount = (value: unknown): boolean => typeof value === "number" && Number.isInteger(value)

const areTexts = (value: unknown): boolean => {
  if (value === undefined) return true
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false
  for (const name in value) if (typeof Reflect.get(value, name) !== "string") return false
  return true
}

const isAudio = (value: unknown): boolean => {
  if (value === undefined) return true
  if (typeof value !== "object" || value === null) return false
  for (const name in value) if (!isCount(Reflect.get(value, name))) return false
  return true
}

interface Fields {
  readonly campaignId?: unknown
  readonly regionId?: unknown
  readonly transportType?: unknown
  readonly clientIdentifier?: unknown
  readonly dynamicVariables?: unknown
  readonly metadata?: unknown
  readonly audioConfiguration?: unknown
}

export const isRequest = (body: Fields | null): boolean =>
  typeof body === "object" &&
  body !== null &&
  isText(body.campaignId, 64) &&
  isText(body.regionId, 32) &&
  (body.transportType === undefined || body.transportType === 0 || body.transportType === 1) &&
  isText(body.clientIdentifier, 256) &&
  areTexts(body.dynamicVariables) &&
  areTexts(body.metadata) &&
  isAudio(body.audioConfiguration)
