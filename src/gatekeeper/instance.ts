/** Which instance this is, for the other instances and for people. */
import { randomBytes } from "node:crypto"
import { hostname } from "node:os"
import { Effect } from "effect"
import { PushChannel } from "../PushChannel.ts"

export interface Instance {
  /** unique; of this life of the process */
  readonly id: string
  readonly host: string
}

/** An instance in words. */
export const shown = ({ host, id }: Instance): string => `${host} (${id})`

export const makeInstance: Effect.Effect<Instance, never, PushChannel> = Effect.map(PushChannel, ({ address }) => ({
  id: address === "" ? randomBytes(6).toString("base64url") : address,
  host: hostname(),
}))
