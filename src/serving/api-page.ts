/** The documentation page of an API: rendered from its definition, with headers that allow the page its own style and nothing else. */
import { createHash } from "node:crypto"
import { type HttpApi, type HttpApiGroup, OpenApi } from "effect/http-api"
import { renderReference } from "./api-page/page.ts"
import { STYLE } from "./api-page/style.ts"
import { type Document, makeDocument } from "./documents.ts"

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-cache",
  "content-security-policy": `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "x-content-type-options": "nosniff",
}

/** @param openApiPath the way from the page to the OpenAPI document */
export const renderApiPage = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  openApiPath: string,
): Promise<Document> => makeDocument(Buffer.from(renderReference(OpenApi.fromApi(api), openApiPath)), HEADERS)
