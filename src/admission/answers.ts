/** What the joined rule answers; its types come from here. */
import { Schema } from "effect"
import { admittedMembers } from "../fifo-queue/answers.ts"
import { LimitName, Near, Usage } from "../rate-limiter/answers.ts"

const { Literal, Struct, Union, optionalKey } = Schema

const noted = {
  /** the limits that the caller is near, by `NEAR_SHARE`; absent for none */
  near: optionalKey(Near),
  /** the shadow limit that would have refused the caller; absent for none */
  shadow: optionalKey(LimitName),
}
const NotedSchema = Struct(noted)
export type Noted = typeof NotedSchema.Type

const [starting, waiting, full, rejected, draining] = admittedMembers

/** A refused newcomer took nothing; `usage` is that of the budgets. */
export const TakenAndAdmitted = Union([
  Struct({ ...starting.fields, ...noted }),
  Struct({ ...waiting.fields, ...noted }),
  Struct({ ...full.fields, ...noted }),
  Struct({ ...rejected.fields, ...noted }),
  Struct({ ...draining.fields, ...noted }),
  Struct({ _tag: Literal("refused"), usage: Usage }),
])
export type TakenAndAdmitted = typeof TakenAndAdmitted.Type
