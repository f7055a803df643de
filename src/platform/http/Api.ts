/**
 * The definition of the platform's API: endpoints, bodies and required permissions, without handlers. Every answer is an envelope.
 * Paths follow the reference (reference/platform-api.md); web campaigns, regions, `GET call/{id}` and the histories of calls and
 * webhooks, which it does not have, are named in the same style.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { refuseUnknown } from "../../lib/refuse-unknown.ts"
import { Authorization, FormErrors } from "./Authorization.ts"
import { Businesses, Keys, NewBusinesses } from "./api/businesses.ts"
import { Calls, Conversations, Sessions } from "./api/sessions.ts"
import { Users } from "./api/users.ts"
import { listChallenge } from "./challenge.ts"

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
      transform: listChallenge,
      description:
        "Every request carries `Authorization: Token <key>`. A key may make 60 requests and 600 starts of sessions and calls per minute, counted separately; `X-RateLimit-Remaining` is the number left. A key has permissions: `start` (start sessions and calls, and read what that needs), `read` (read everything in its scope), `manage` (change and delete). No permission includes another. Every endpoint lists permissions of which a key needs one; without it the answer is 403 `PERMISSION_MISSING`.",
    }),
  )
