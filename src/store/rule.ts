/** Turns a rule of `src/rules` into a `Rule` of the store, with its Lua and a decoder for its answer. */
import { Schema } from "effect"
import { lua } from "../rules/lua.generated.ts"
import type { RuleName } from "../rules/rules.ts"
import type { Run } from "../rules/run.ts"
import type { Rule } from "../Store.ts"

/** The context of rules without one. Always this object, since contexts are compared by identity. */
export const NO_CONTEXT: object = Object.freeze({})

/**
 * @param answer the schema of one answer of the Lua; answers of the memory store are not decoded
 * @param batch see `Rule.batch`
 */
export const ruleOf = <C extends object, K extends object, A>(
  name: RuleName,
  run: Run<C, K, A>,
  answer: Schema.Codec<NoInfer<A>, unknown>,
  batch = false,
): Rule<C, K, A> => ({ name, run, lua: lua[name], decode: Schema.decodeUnknownSync(answer), batch })
