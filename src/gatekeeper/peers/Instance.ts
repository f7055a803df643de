/** The identity of this instance, for the other instances and for logs. */
import { randomBytes } from "node:crypto"
import { hostname } from "node:os"
import { Context, Effect, Layer } from "effect"
import { PushChannel } from "../../push-channel/PushChannel.ts"

export class Instance extends Context.Service<
  Instance,
  {
    /** unique; a restarted process has a new one */
    readonly id: string
    readonly host: string
  }
>()("voicegate/gatekeeper/Instance") {}

/** An instance as text, for logs. */
export const shown = ({ host, id }: Instance["Service"]): string => `${host} (${id})`

export const layer: Layer.Layer<Instance, never, PushChannel> = Layer.effect(
  Instance,
  Effect.map(PushChannel, ({ address }) => ({
    id: address === "" ? randomBytes(6).toString("base64url") : address,
    host: hostname(),
  })),
)
