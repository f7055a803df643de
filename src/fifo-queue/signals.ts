/** Decodes what rules publish to the gate that holds a ticket's connection. */
import { Option, Schema } from "effect"
import { signal } from "./answers.ts"
import type { Signal } from "./rules/shared/step.ts"

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(signal))

/** Undefined for a signal that only a newer version knows. */
export const readSignal = (message: string): Signal | undefined => Option.getOrUndefined(decode(message))
