/**
 * What endpoints declare that a caller needs. Every endpoint stands behind `Authorization`, which refuses every key where an
 * endpoint does not say which permissions open it (`openTo`). The others give a handler what it cannot have otherwise: the
 * business, the user. So an endpoint that forgets to declare that need does not compile.
 */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import type { Counted } from "../Access.ts"
import type { Business, Permission, Principal, User } from "../model.ts"
import { Failures } from "./envelope.ts"

/** The caller whose key was proved. */
export class Caller extends Context.Service<Caller, Principal>()("voicegate/platform/Caller") {}

/** The business of the path, which the key may touch. */
export class CurrentBusiness extends Context.Service<CurrentBusiness, Business>()(
  "voicegate/platform/CurrentBusiness",
) {}

/** The user of a key that may act for the user. */
export class CurrentUser extends Context.Service<CurrentUser, User>()("voicegate/platform/CurrentUser") {}

/** Which budget an endpoint's requests are counted in. */
export class CountedAs extends Context.Service<CountedAs, Counted>()("voicegate/platform/CountedAs") {}

/** Any one of these permissions opens the endpoint. */
export class OpenTo extends Context.Service<OpenTo, ReadonlyArray<Permission>>()("voicegate/platform/OpenTo") {}

/** Opens an endpoint to keys with one of these permissions, and says so in its description; `says` is the rest of it. */
export const openTo = (
  permissions: readonly [Permission, ...ReadonlyArray<Permission>],
  says = "",
): Context.Context<OpenTo> => {
  const needs = `Needs the permission ${permissions.map((each) => `\`${each}\``).join(" or ")}.`
  return OpenApi.annotations({
    description: says === "" ? needs : `${says} ${needs}`,
    override: { "x-permissions": permissions },
  }).pipe(Context.add(OpenTo, permissions))
}

/** The header is exactly `Authorization: Token <key>`, the key is good, has requests left, and a permission of the endpoint. */
export class Authorization extends HttpApiMiddleware.Service<Authorization, { provides: Caller }>()(
  "voicegate/platform/Authorization",
  {
    security: {
      token: HttpApiSecurity.http({ scheme: "Token" }).pipe(
        HttpApiSecurity.annotateMerge(OpenApi.annotations({ description: "`Authorization: Token <key>`" })),
      ),
    },
    error: Failures,
  },
) {}

/** The business `businessId` of the path is within the key's scope, and its user's. */
export class NeedsBusiness extends HttpApiMiddleware.Service<
  NeedsBusiness,
  { provides: CurrentBusiness; requires: Caller }
>()("voicegate/platform/NeedsBusiness", { error: Failures }) {}

/** The key allows user management requests. */
export class NeedsUserManagement extends HttpApiMiddleware.Service<
  NeedsUserManagement,
  { provides: CurrentUser; requires: Caller }
>()("voicegate/platform/NeedsUserManagement", { error: Failures }) {}

/** The key is not restricted to some businesses. */
export class NeedsUnrestricted extends HttpApiMiddleware.Service<
  NeedsUnrestricted,
  { provides: CurrentUser; requires: Caller }
>()("voicegate/platform/NeedsUnrestricted", { error: Failures }) {}

/** Answers a body, parameter or query of the wrong form with the envelope and 400. */
export class FormErrors extends HttpApiMiddleware.Service<FormErrors>()("voicegate/platform/FormErrors", {
  error: Failures,
}) {}
