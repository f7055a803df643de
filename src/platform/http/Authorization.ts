/**
 * The middleware every endpoint below `/api/v1` stands behind: the header must be exactly `Authorization: Token <key>`.
 */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import type { Principal } from "../Accounts.ts"
import { BadRequest, Forbidden, Unauthorized } from "./envelope.ts"

/** The caller whose key was proved. */
export class Caller extends Context.Service<Caller, Principal>()("voicegate/platform/Caller") {}

export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: Caller; requires: never }>()(
  "voicegate/platform/Authorization",
  {
    security: {
      token: HttpApiSecurity.http({ scheme: "Token" }).pipe(
        HttpApiSecurity.annotateMerge(OpenApi.annotations({ description: "`Authorization: Token <key>`" })),
      ),
    },
    error: [Unauthorized, Forbidden],
  },
) {}

/** Answers a body, parameter or query of the wrong form with the envelope and 400. */
export class FormErrors extends HttpApiMiddleware.Service<FormErrors>()("voicegate/platform/FormErrors", {
  error: BadRequest,
}) {}
