/** The user of a key, and the account's usage: definitions. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { NeedsUserManagement, openToUserManagement } from "../Authorization.ts"
import { success } from "../envelope.ts"
import { described, FilterTime, listBody, Name, OptionalTime, pageOf, Time } from "./shapes.ts"

const User = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  email: Schema.NullOr(Schema.String),
  createdAt: Time,
})
const Kind = Schema.Literals(["web", "call"])
const UsageFilter = Schema.Struct({ kind: Schema.optionalKey(Kind), from: FilterTime, to: FilterTime })
const Usage = Schema.Struct({
  conversationSessionId: Schema.String,
  businessId: Schema.String,
  kind: Kind,
  startedAt: Time,
  endedAt: OptionalTime,
  seconds: Schema.Int,
})

export const Users = HttpApiGroup.make("users")
  .add(
    HttpApiEndpoint.get("GetUser", "/user", { success: success(User) }).annotateMerge(openToUserManagement()),
    HttpApiEndpoint.patch("ChangeUser", "/user", {
      payload: Schema.Struct({ name: Name }),
      success: success(User),
    }).annotateMerge(openToUserManagement()),
    HttpApiEndpoint.get("GetBillingUsage", "/user/billing/usage", {
      success: success(
        Schema.Struct({
          creditBalance: described(Schema.Literal(0), "always 0: this platform bills nothing"),
          currentUsage: Schema.Struct({ Call_Concurrency: described(Schema.Int, "the calls that run now") }),
          cycleLastResetAt: described(Schema.String, "when the account was made: nothing is ever reset"),
        }),
      ),
    }).annotateMerge(openToUserManagement()),
    HttpApiEndpoint.get("GetFeaturesActiveQuantity", "/user/billing/featuresactivequantity", {
      success: success(Schema.Struct({ Call_Concurrency: Schema.Int })),
    }).annotateMerge(openToUserManagement()),
    HttpApiEndpoint.post("CountUsage", "/user/usage/count", {
      payload: Schema.Struct({ filter: Schema.optionalKey(Schema.NullOr(UsageFilter)) }),
      success: success(Schema.Struct({ count: Schema.Int, seconds: Schema.Int })),
    }).annotateMerge(openToUserManagement()),
    HttpApiEndpoint.post("ListUsage", "/user/usage/history", {
      payload: listBody(UsageFilter),
      success: success(pageOf(Usage)),
    }).annotateMerge(openToUserManagement()),
  )
  .middleware(NeedsUserManagement)
  .annotateMerge(OpenApi.annotations({ title: "Users", description: "Needs a key with user management" }))
