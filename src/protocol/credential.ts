/**
 * What a platform other than the default one gave for one session. The page hands it to that vendor's SDK; the vendor's key never
 * leaves the gate. `docs/vendors.md` says for each vendor which shape it has and how long it is valid.
 */
import { Schema } from "effect"

const common = {
  platform: Schema.String.annotate({
    description: "The campaign's `Platform`: says which vendor's SDK takes the credential.",
  }),
  expiresAt: Schema.optionalKey(
    Schema.String.annotate({
      description: "The time by which the page must have connected, ISO 8601; absent where the vendor does not say.",
    }),
  ),
  details: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Json).annotate({
      description: "What else the vendor's SDK needs, under the vendor's own names.",
    }),
  ),
}
const url = Schema.String.annotate({ description: "The address to connect to." })
const token = Schema.String.annotate({ description: "The bearer for that address or for the vendor's SDK." })
const shape = <const Shape extends string>(name: Shape, description: string) =>
  Schema.Literal(name).annotate({ description })

/** A credential by its shape. */
export const Credential = Schema.Union([
  Schema.Struct({ shape: shape("url", "An address that contains its bearer."), ...common, url }),
  Schema.Struct({ shape: shape("url+token", "An address and a token for it."), ...common, url, token }),
  Schema.Struct({ shape: shape("token", "A token that is valid until it expires."), ...common, token }),
  Schema.Struct({ shape: shape("single-use-token", "A token that opens one session, once."), ...common, token }),
  Schema.Struct({
    shape: shape(
      "sdp-relay",
      "The page posts its SDP offer to the address at the gate, with the token as its bearer, once.",
    ),
    ...common,
    url: Schema.String.annotate({ description: "The gate's endpoint for the offer: a path, or an address." }),
    token,
  }),
]).annotate({ identifier: "Credential" })
export type Credential = typeof Credential.Type

/** What a started session gives its caller; one of the two. */
interface Access {
  readonly webSocketUrl?: string | undefined
  readonly credential?: Credential | undefined
}

/** The fields of an answer with which the caller joins the session. */
export const accessOf = ({ credential, webSocketUrl }: Access) => ({
  ...(webSocketUrl === undefined ? {} : { webSocketUrl }),
  ...(credential === undefined ? {} : { credential }),
})
