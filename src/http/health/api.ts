/** The endpoints of a gate's health. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { PlatformTrouble } from "../../fifo-queue/operator/schemas.ts"
import { refusals, succeeds } from "../../protocol/endpoint-answers.ts"
import { problems } from "../../protocol/problems.ts"

const LiveAnswer = Schema.Struct({
  status: Schema.Literal("ok").annotate({ description: "The process answers." }),
})

const ReadyAnswer = Schema.Struct({
  status: Schema.Literal("ready").annotate({ description: "The gate accepts callers." }),
  platforms: Schema.optionalKey(
    Schema.Record(Schema.String, PlatformTrouble).annotate({
      description:
        "The campaigns whose platform serves nobody now, and why, or reports no ends of calls (`webhooks_missing`); absent while all work. Their callers wait at this instance as at any other.",
    }),
  ),
})

export const Operations = HttpApiGroup.make("Operations").add(
  HttpApiEndpoint.get("live", "/health/live", {
    success: succeeds(200, LiveAnswer),
    error: refusals(),
  }).annotate(OpenApi.Description, "Whether the process answers. A failure means: restart it."),
  HttpApiEndpoint.get("ready", "/health/ready", {
    success: succeeds(200, ReadyAnswer),
    error: refusals(problems.internalError, problems.notReady),
  }).annotate(OpenApi.Description, "Whether this instance accepts callers. A failure means: send them elsewhere."),
)
