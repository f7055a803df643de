/**
 * The console's own wire, for its page: one view to look at every two seconds, the trail, and the actions. It is no part of the
 * gate's documented wire.
 */
import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { Action, Done, Trail, View } from "../../operator/shapes.ts"

export const Command = Schema.Struct({
  campaign: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(256))),
  action: Action,
})

/** All of them need `Authorization: Bearer <Security.ConsoleToken>` and answer problem documents otherwise. */
const group = HttpApiGroup.make("Console").add(
  HttpApiEndpoint.get("view", "/console/api/view", { success: View }),
  HttpApiEndpoint.get("trail", "/console/api/trail", { success: Trail }),
  HttpApiEndpoint.post("act", "/console/api/actions", { payload: Command, success: Done }),
)

export const Api = HttpApi.make("voicegate console").add(group)
