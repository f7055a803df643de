/** The settings of identity: by which tokens the gate knows who calls, and what that changes. */
import { Schema } from "effect"
import { TRUSTS } from "../../protocol/identity.ts"
import { listWithDefault, optional, withDefault } from "../setting.ts"
import { secureUrl } from "../values/network.ts"
import { identitySecret } from "../values/secret.ts"
import { flag, list, oneOf, text, wholeNumber } from "../values/values.ts"

export const IdentitySettings = Schema.Struct({
  Secrets: listWithDefault(list(identitySecret), [], "none", {
    description:
      "secrets by which a backend of yours signs tokens that say who calls (HS256), at least 32 characters; several for rotation",
    documentation:
      "The key is the text itself, as UTF-8. Without this and `JwksUrl` no token is read. See [Control](control.md#identity)",
  }),
  JwksUrl: optional(secureUrl, "none", {
    description:
      "where a server of yours publishes the public keys by which it signs such tokens (a JWKS; RS, ES, EdDSA)",
    documentation: "It needs `Audience`, because such a server signs for others too",
  }),
  Issuer: optional(text, "any", {
    shared: true,
    description: "who must have issued a token: its claim `iss`",
  }),
  Audience: optional(text, "any", {
    shared: true,
    description: "whom a token must be for: its claim `aud`, or one of them",
  }),
  Required: withDefault(flag, false, {
    shared: true,
    description: "refuse requests without a token (401); a campaign's `IdentityRequired` decides for that campaign",
  }),
  SingleUse: withDefault(flag, false, {
    shared: true,
    description:
      "accept each token once, by its claim `jti`; a repetition while its ticket lives gets that ticket again, a later one is refused",
    documentation: "Costs one more command of the store for each request with a token",
  }),
  Trust: withDefault(oneOf(TRUSTS), "none", {
    shared: true,
    description:
      "what a caller with a token need not pass: `none`, or `address-check`, so that a known customer may use a VPN or proxy",
    documentation: "Limits, and a network's share of the queue, stay",
  }),
  JwksStaleHours: withDefault(wholeNumber(1, 720), 24, {
    description: "how long known keys of `JwksUrl` are used while it does not answer",
  }),
})
