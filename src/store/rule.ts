/**
 * Turns a rule of a concern's folder `rules` into a `Rule` of the store, with its Lua and a decoder for its answer. The calls of `ruleOf`
 * are the list of all rules: `scripts/rules.ts` finds them and compiles each `run` to Lua.
 */
import { Schema } from "effect"
import { lua } from "./rules/lua.generated.ts"
import type { Run } from "./rules/run.ts"
import type { Rule } from "./Store.ts"

/** The context of rules without one. Always this object, since contexts are compared by identity. */
export const NO_CONTEXT: object = Object.freeze({})

/**
 * @param name unique; a string literal
 * @param run an expression of names imported from the concern's `rules`
 * @param answer the schema of one answer of the Lua; answers of the memory store are not decoded
 * @param options `batch`, `expires` and `texts` of `Rule`; `texts` is a list of string literals
 */
export const ruleOf = <C extends object, K extends object, A>(
  name: keyof typeof lua,
  run: Run<C, K, A>,
  answer: Schema.Codec<NoInfer<A>, unknown>,
  { batch = false, ...options }: { readonly expires?: true } & Partial<Pick<Rule<C, K, A>, "batch" | "texts">> = {},
): Rule<C, K, A> => ({
  name,
  run,
  lua: lua[name],
  decode: Schema.decodeUnknownSync(answer),
  batch,
  ...options,
})
