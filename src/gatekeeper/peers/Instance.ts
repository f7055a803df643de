/** The identity of this instance, for the other instances and for logs. */
import { randomBytes } from "node:crypto"
import { hostname } from "node:os"
import { Effect } from "effect"
import { PushChannel } from "../../push-channel/PushChannel.ts"

export interface Instance {
  /** unique; a restarted process has a new one */
  readonly id: string
  readonly host: string
}

/** An instance as text, for logs. */
export const shown = ({ host, id }: Instance): string => `${host} (${id})`

export const makeInstance: Effect.Effect<Instance, never, PushChannel> = Effect.map(PushChannel, ({ address }) => ({
  id: address === "" ? randomBytes(6).toString("base64url") : address,
  host: hostname(),
}))
