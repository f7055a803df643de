/** Makes what the store is asked of the rules in `src/rules`: with the Lua of a rule, and its answer checked. */
import { Schema } from "effect"
import { lua } from "../rules/lua.generated.ts"
import type { RuleName } from "../rules/rules.ts"
import type { Run } from "../rules/run.ts"
import type { Rule } from "../Store.ts"

/** The context of rules that have none. It is always this object: contexts are compared by identity. */
export const NO_CONTEXT: object = Object.freeze({})

/**
 * @param answer what one answer of the Lua is; the memory store's answers are not checked
 * @param batch see `Rule.batch`
 */
export const ruleOf = <C extends object, K extends object, A>(
  name: RuleName,
  run: Run<C, K, A>,
  answer: Schema.Codec<NoInfer<A>, unknown>,
  batch = false,
): Rule<C, K, A> => ({ name, run, lua: lua[name], decode: Schema.decodeUnknownSync(answer), batch })
