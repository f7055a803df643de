/**
 * The definition of the API between the dashboard's page and the platform, without handlers. The page's client and the handlers are
 * derived from it, so it imports only what runs in a browser.
 *
 * Same origin only. The session is a cookie that scripts cannot read and that other sites' requests do not contain; a request that
 * changes something must also prove that it comes from this origin (`SameOrigin`).
 */
import { Context, Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSchema } from "effect/http-api"
import { refuseUnknown } from "../../lib/refuse-unknown.ts"
import { ApiKey, CreatedApiKey, KeyChange, KeyRotation, NewApiKey } from "../keys/ApiKey.ts"
import { Text } from "../text.ts"
import {
  Conflict,
  Forbidden,
  Invalid,
  NotFound,
  SignedOut,
  SignInFailed,
  TooManyAttempts,
  Unavailable,
} from "./dashboard/failures.ts"
import {
  Account,
  AuditEntry,
  AuditSubject,
  Business,
  BusinessInput,
  Campaign,
  CampaignInput,
  Credentials,
  Delivery,
  DeliveryDetail,
  DeliveryState,
  Ended,
  KeyUsage,
  Kind,
  ListedConversation,
  Live,
  Overview,
  PasswordChange,
  page,
  pageQuery,
  Region,
  Resend,
  Resent,
  SetupCheck,
  SignInEntry,
  Transcript,
} from "./dashboard/shapes.ts"

export const DASHBOARD_API_PATH = "/dashboard/api"

/** The signed-in user, and the id of the sign-in. */
export class SignedIn extends Context.Service<SignedIn, Account & { readonly signInId: string }>()(
  "voicegate/platform/dashboard/SignedIn",
) {}

/** Authenticates by the session's cookie. */
export class Session extends HttpApiMiddleware.Service<Session, { provides: SignedIn }>()(
  "voicegate/platform/dashboard/Session",
  { error: [SignedOut, Invalid, Unavailable] },
) {}

/** Refuses requests of other sites' pages (OWASP, Cross-Site Request Forgery Prevention: Fetch Metadata, Origin). */
export class SameOrigin extends HttpApiMiddleware.Service<SameOrigin>()("voicegate/platform/dashboard/SameOrigin", {
  error: Forbidden,
}) {}

/** Answers an invalid request. */
export class Forms extends HttpApiMiddleware.Service<Forms>()("voicegate/platform/dashboard/Forms", {
  error: Invalid,
}) {}

const id = Text.check(Schema.isBetweenLength(1, 256))

const SessionGroup = HttpApiGroup.make("session").add(
  HttpApiEndpoint.post("signIn", "/session", {
    payload: Credentials,
    success: Account,
    error: [SignInFailed, TooManyAttempts, Unavailable],
  }),
  HttpApiEndpoint.get("whoAmI", "/session", { success: Account }).middleware(Session),
  /** Ends the session in the browser and on the platform; does nothing without one. */
  HttpApiEndpoint.delete("signOut", "/session", { success: HttpApiSchema.NoContent, error: Unavailable }),
)

const AccountGroup = HttpApiGroup.make("account")
  .add(
    /** Ends all other sign-ins. Guesses at the current password are throttled like sign-ins. */
    HttpApiEndpoint.put("changePassword", "/account/password", {
      payload: PasswordChange,
      success: HttpApiSchema.NoContent,
      error: [Invalid, TooManyAttempts],
    }),
    HttpApiEndpoint.get("signIns", "/account/sign-ins", { success: Schema.Array(SignInEntry) }),
    HttpApiEndpoint.delete("endSignIn", "/account/sign-ins/:id", {
      params: { id },
      success: HttpApiSchema.NoContent,
      error: NotFound,
    }),
    HttpApiEndpoint.post("endOtherSignIns", "/account/sign-ins/end-others", { success: Ended }),
  )
  .middleware(Session)

const Keys = HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("list", "/keys", { success: Schema.Array(ApiKey) }),
    HttpApiEndpoint.post("create", "/keys", { payload: NewApiKey, success: CreatedApiKey, error: [Invalid, NotFound] }),
    HttpApiEndpoint.patch("change", "/keys/:id", {
      params: { id },
      payload: KeyChange,
      success: ApiKey,
      error: [Invalid, NotFound, Conflict],
    }),
    /** How often the key started sessions and calls in the last 30 days. */
    HttpApiEndpoint.get("usage", "/keys/:id/usage", { params: { id }, success: KeyUsage, error: NotFound }),
    /** Answers with a new secret; the present one still works until the given time. */
    HttpApiEndpoint.post("rotate", "/keys/:id/rotate", {
      params: { id },
      payload: KeyRotation,
      success: CreatedApiKey,
      error: [Invalid, NotFound, Conflict],
    }),
    HttpApiEndpoint.post("revoke", "/keys/:id/revoke", { params: { id }, success: ApiKey, error: NotFound }),
  )
  .middleware(Session)

const Businesses = HttpApiGroup.make("businesses")
  .add(
    HttpApiEndpoint.get("list", "/businesses", { success: Schema.Array(Business) }),
    HttpApiEndpoint.post("create", "/businesses", { payload: BusinessInput, success: Business, error: Invalid }),
    HttpApiEndpoint.patch("rename", "/businesses/:id", {
      params: { id },
      payload: BusinessInput,
      success: Business,
      error: [Invalid, NotFound],
    }),
    HttpApiEndpoint.delete("remove", "/businesses/:id", {
      params: { id },
      success: HttpApiSchema.NoContent,
      error: [NotFound, Conflict],
    }),
    HttpApiEndpoint.get("regions", "/regions", { success: Schema.Array(Region) }),
  )
  .middleware(Session)

const Campaigns = HttpApiGroup.make("campaigns")
  .add(
    HttpApiEndpoint.post("create", "/businesses/:businessId/campaigns", {
      params: { businessId: id },
      payload: CampaignInput,
      success: Campaign,
      error: [Invalid, NotFound],
    }),
    HttpApiEndpoint.put("edit", "/businesses/:businessId/campaigns/:id", {
      params: { businessId: id, id },
      payload: CampaignInput,
      success: Campaign,
      error: [Invalid, NotFound],
    }),
    HttpApiEndpoint.delete("remove", "/businesses/:businessId/campaigns/:id", {
      params: { businessId: id, id },
      success: HttpApiSchema.NoContent,
      error: [NotFound, Conflict],
    }),
  )
  .middleware(Session)

const Conversations = HttpApiGroup.make("conversations")
  .add(
    /** The page polls it. `from` is when the user's day began (ms since 1970), at most two days ago. */
    HttpApiEndpoint.get("overview", "/overview", { query: { from: Schema.Int }, success: Overview }),
    HttpApiEndpoint.get("list", "/conversations", {
      query: {
        ...pageQuery,
        businessId: Schema.optionalKey(id),
        kind: Schema.optionalKey(Kind),
        /** a part of the caller's identifier, of the id, or of what was said */
        search: Schema.optionalKey(Text.check(Schema.isBetweenLength(1, 200))),
      },
      success: page(ListedConversation),
      error: [Invalid, NotFound],
    }),
    HttpApiEndpoint.get("read", "/businesses/:businessId/conversations/:id", {
      params: { businessId: id, id },
      success: Transcript,
      error: NotFound,
    }),
    /** The page polls it. */
    HttpApiEndpoint.get("live", "/live", { success: Live }),
  )
  .middleware(Session)

const Deliveries = HttpApiGroup.make("deliveries")
  .add(
    HttpApiEndpoint.get("list", "/deliveries", {
      query: { ...pageQuery, businessId: Schema.optionalKey(id), state: Schema.optionalKey(DeliveryState) },
      success: page(Delivery),
      error: [Invalid, NotFound],
    }),
    HttpApiEndpoint.get("read", "/deliveries/:id", { params: { id }, success: DeliveryDetail, error: NotFound }),
    /** Makes failed messages due now, those that were given up included. */
    HttpApiEndpoint.post("sendFailedAgain", "/deliveries/send-failed-again", {
      payload: Resend,
      success: Resent,
      error: Invalid,
    }),
    /** Attempts delivery now, with the same id; a message that was given up gets one more attempt. Refused for a delivered one. */
    HttpApiEndpoint.post("sendAgain", "/deliveries/:id/send-again", {
      params: { id },
      success: Delivery,
      error: [NotFound, Conflict],
    }),
  )
  .middleware(Session)

const Audit = HttpApiGroup.make("audit")
  .add(
    HttpApiEndpoint.get("list", "/audit", {
      query: { ...pageQuery, subject: Schema.optionalKey(AuditSubject) },
      success: page(AuditEntry),
      error: Invalid,
    }),
  )
  .middleware(Session)

const Setup = HttpApiGroup.make("setup")
  .add(
    /**
     * The page polls it while a gate is set up. For an id that is absent, unknown or another user's, the answer says that nothing was seen.
     */
    HttpApiEndpoint.get("check", "/setup", {
      query: { keyId: Schema.optionalKey(id), campaignId: Schema.optionalKey(id) },
      success: SetupCheck,
    }),
  )
  .middleware(Session)

export const DashboardApi = HttpApi.make("dashboard")
  .add(SessionGroup, AccountGroup, Keys, Businesses, Campaigns, Conversations, Deliveries, Audit, Setup)
  .annotateMerge(refuseUnknown)
  .middleware(Forms)
  .middleware(SameOrigin)
  .prefix(DASHBOARD_API_PATH)
