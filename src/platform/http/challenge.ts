/** How a request to the platform authenticates (RFC 9110, 11.6.1): every 401 says so. No browser asks its user for either scheme. */
import type { OpenApi } from "effect/http-api"

/** The API: by a key. */
export const API_CHALLENGE = 'Token realm="platform"'
/** The dashboard: by its cookie. */
export const DASHBOARD_CHALLENGE = 'Cookie realm="dashboard"'

const METHODS = ["get", "post", "put", "patch", "delete"] as const

/** Lists the header at every 401 of the API's document. */
export const listChallenge = (document: { readonly paths?: OpenApi.OpenAPISpec["paths"] }) => {
  const header = { required: true, schema: { type: "string" }, description: `\`${API_CHALLENGE}\`.` } as const
  for (const path of Object.values(document.paths ?? {})) {
    for (const method of METHODS) {
      const refusal = path[method]?.responses[401]
      if (refusal !== undefined) refusal.headers = { ...refusal.headers, "www-authenticate": header }
    }
  }
  return document
}
