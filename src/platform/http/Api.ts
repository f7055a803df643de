/**
 * The platform's API as a document: endpoints, bodies and what each needs, without handlers. Every answer is an envelope. Paths
 * are the reference's where it has them (reference/platform-api.md); web campaigns, regions, `GET call/{id}` and the histories
 * of calls and webhooks, which it does not show, are named alike.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { Authorization, FormErrors } from "./Authorization.ts"
import { Businesses, Keys, NewBusinesses } from "./api/businesses.ts"
import { Calls, Conversations, Sessions } from "./api/sessions.ts"
import { Users } from "./api/users.ts"
import { refuseUnknown } from "./unknown-fields.ts"

export const Api = HttpApi.make("platform")
  .add(Keys, NewBusinesses, Businesses, Sessions, Calls, Conversations, Users)
  .middleware(FormErrors)
  .middleware(Authorization)
  .prefix("/api/v1")
  .annotateMerge(refuseUnknown)
  .annotateMerge(
    OpenApi.annotations({
      title: "voicegate platform",
      version: "1",
      description:
        "Every request carries `Authorization: Token <key>`. A key may make 60 requests a minute, and 600 starts of sessions and calls, which are counted apart; `X-RateLimit-Remaining` says how many are left. A key has permissions: `start` (start sessions and calls, and read what whoever starts them needs), `read` (read everything in its scope), `manage` (change and delete). None includes another. Every endpoint names those of which a key needs one; without it the answer is 403 `PERMISSION_MISSING`.",
    }),
  )
