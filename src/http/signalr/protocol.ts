/**
 * The part of SignalR's JSON hub protocol that the stock JavaScript client (9 and 10) needs: handshake, invocation, completion,
 * ping and close. Each record is JSON terminated by 0x1E; a frame may contain several.
 * Source: the HubProtocol and TransportProtocols documents of ASP.NET Core.
 */
import { Schema } from "effect"

const SEPARATOR = "\u001e"

/** Record types of the protocol. */
const INVOCATION = 1
const COMPLETION = 3
const PING = 6
const CLOSE = 7

export type ClientRecord =
  | {
      readonly _tag: "invocation"
      readonly target: string
      readonly args: ReadonlyArray<unknown>
      readonly id?: string
    }
  | { readonly _tag: "ping" }
  | { readonly _tag: "close" }
  | { readonly _tag: "other" }

const Invocation = Schema.Struct({
  type: Schema.Literal(INVOCATION),
  target: Schema.String,
  arguments: Schema.Array(Schema.Unknown),
  invocationId: Schema.optionalKey(Schema.String),
})
const isInvocation = Schema.is(Invocation)
const Typed = Schema.Struct({ type: Schema.Number })
const isTyped = Schema.is(Typed)
const Handshake = Schema.Struct({ protocol: Schema.String, version: Schema.Number })
const isHandshake = Schema.is(Handshake)

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Undefined if the last record is not terminated. */
export const records = (frame: string): ReadonlyArray<string> | undefined =>
  frame.endsWith(SEPARATOR) ? frame.slice(0, -1).split(SEPARATOR) : undefined

/** Why a client's handshake is refused; undefined when it is accepted. */
export const refuseHandshake = (record: string): string | undefined => {
  const handshake = parse(record)
  if (!isHandshake(handshake)) return "Expected a handshake."
  if (handshake.protocol !== "json") return "Expected the protocol json."
  return handshake.version === 1 ? undefined : "Expected version 1 of the protocol."
}

export const readRecord = (record: string): ClientRecord | undefined => {
  const message = parse(record)
  if (isInvocation(message)) {
    return {
      _tag: "invocation",
      target: message.target,
      args: message.arguments,
      ...(message.invocationId === undefined ? {} : { id: message.invocationId }),
    }
  }
  if (!isTyped(message)) return undefined
  if (message.type === PING) return { _tag: "ping" }
  return message.type === CLOSE ? { _tag: "close" } : { _tag: "other" }
}

const encode = (record: unknown): string => JSON.stringify(record) + SEPARATOR

export const handshakeAnswer = (error?: string): string => encode(error === undefined ? {} : { error })
export const invocation = (target: string, argument: unknown): string =>
  encode({ type: INVOCATION, target, arguments: [argument] })
/** The answer to an invocation; with `error`, it failed. */
export const completion = (invocationId: string, error?: string): string =>
  encode({ type: COMPLETION, invocationId, ...(error === undefined ? {} : { error }) })
export const ping = encode({ type: PING })
/** A close record. Without `allowReconnect` the client does not reconnect. */
export const close = (allowReconnect: boolean, error?: string): string =>
  encode({
    type: CLOSE,
    ...(error === undefined ? {} : { error }),
    ...(allowReconnect ? { allowReconnect: true } : {}),
  })
