/** Decodes what rules publish to the gate that holds a ticket's connection. */
import { Option, Schema } from "effect"
import type { Signal } from "../rules/step.ts"
import { signal } from "./answers.ts"

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(signal))

/** Undefined for a signal that only a newer version knows. */
export const readSignal = (message: string): Signal | undefined => Option.getOrUndefined(decode(message))
