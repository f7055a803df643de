/**
 * The requirements that endpoints declare. Every endpoint uses `Authorization`, which refuses every key when the endpoint does not
 * declare its permissions (`openTo`). The other middleware provide what a handler cannot get otherwise: the business, the user. So
 * an endpoint without the declaration does not compile.
 */
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import { PERMISSIONS, type Permission } from "../keys/ApiKey.ts"
import type { BudgetName } from "../keys/Budgets.ts"
import type { Business, Principal, User } from "../model.ts"
import { Failures } from "./envelope.ts"

/** The authenticated caller. */
export class Caller extends Context.Service<Caller, Principal>()("voicegate/platform/Caller") {}

/** The business of the path, which the key may access. */
export class CurrentBusiness extends Context.Service<CurrentBusiness, Business>()(
  "voicegate/platform/CurrentBusiness",
) {}

export class CurrentUser extends Context.Service<CurrentUser, User>()("voicegate/platform/CurrentUser") {}

/** The budget in which an endpoint's requests count. */
export class CountedIn extends Context.Service<CountedIn, BudgetName>()("voicegate/platform/CountedAs") {}

/** The endpoint requires one of these permissions. */
export class OpenTo extends Context.Service<OpenTo, ReadonlyArray<Permission>>()("voicegate/platform/OpenTo") {}

/** Opens an endpoint to keys with one of these permissions, and adds that to its description; `says` is the rest of it. */
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

/**
 * Opens an endpoint at or below `/user` to every key with user management, whatever its permissions: they narrow what a key may do
 * in its businesses. `says` is the rest of its description.
 */
export const openToUserManagement = (says = ""): Context.Context<OpenTo> => {
  const needs = "Needs user management, which the key's permissions do not narrow."
  return OpenApi.annotations({
    description: says === "" ? needs : `${says} ${needs}`,
    override: { "x-user-management": true },
  }).pipe(Context.add(OpenTo, PERMISSIONS))
}

/** Requires the exact header `Authorization: Token <key>`, a valid key within its budget, and a permission of the endpoint. */
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

/** Requires that the path's business belongs to the key's user and is within the key's scope. */
export class NeedsBusiness extends HttpApiMiddleware.Service<
  NeedsBusiness,
  { provides: CurrentBusiness; requires: Caller }
>()("voicegate/platform/NeedsBusiness", { error: Failures }) {}

export class NeedsUserManagement extends HttpApiMiddleware.Service<
  NeedsUserManagement,
  { provides: CurrentUser; requires: Caller }
>()("voicegate/platform/NeedsUserManagement", { error: Failures }) {}

/** Requires a key that is not restricted to some businesses. */
export class NeedsUnrestricted extends HttpApiMiddleware.Service<
  NeedsUnrestricted,
  { provides: CurrentUser; requires: Caller }
>()("voicegate/platform/NeedsUnrestricted", { error: Failures }) {}

/** Answers an invalid body, parameter or query with an envelope and 400. */
export class FormErrors extends HttpApiMiddleware.Service<FormErrors>()("voicegate/platform/FormErrors", {
  error: Failures,
}) {}
