/** What a request's `Content-Type` and `Content-Encoding` say about its body. */
import type { Headers, HttpServerRequest } from "effect/http"

/** JSON has one encoding (RFC 8259, 8.1). */
const CHARSETS: ReadonlySet<string> = new Set(["utf-8", "utf8", "us-ascii"])
const JSON_TYPE = /^(?:application|text)\/json$|^[a-z]+\/[^/\s;]+\+json$/

export const MEDIA_TYPE_EXPECTED =
  "the body: Expected JSON in UTF-8 without compression (Content-Type: application/json)"

/** `json` is `application/json`; `alias` is another type of JSON, such as `text/json` or `application/merge-patch+json`. */
export const bodyKind = (headers: Headers.Headers): "json" | "alias" | "other" => {
  const encoding = headers["content-encoding"]?.trim().toLowerCase()
  if (encoding !== undefined && encoding !== "" && encoding !== "identity") return "other"
  const given = headers["content-type"]
  if (given === undefined) return "json"
  const [type = "", ...parameters] = given.split(";").map((part) => part.trim().toLowerCase())
  const charset = parameters.find((part) => part.startsWith("charset="))?.slice("charset=".length)
  if (charset !== undefined && !CHARSETS.has(charset.replaceAll('"', ""))) return "other"
  if (type === "application/json") return "json"
  return JSON_TYPE.test(type) ? "alias" : "other"
}

/** The request with the type that the API's decoder knows. */
export const asJson = (request: HttpServerRequest.HttpServerRequest): HttpServerRequest.HttpServerRequest =>
  request.modify({ headers: { ...request.headers, "content-type": "application/json" } })
