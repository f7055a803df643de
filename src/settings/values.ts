/**
 * The kinds of values that settings have, as schemas from what a file or the environment holds. Each is annotated with what is
 * `expected`, in words that complete "expected …"; what else is known of it stands under `voicegate`.
 */
import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"

/** What a value or a setting is annotated with beside Effect's own annotations. */
export interface Notes {
  /** the value is never shown */
  readonly secret?: boolean
  /** one value or several, of which each is what is `expected` */
  readonly list?: boolean
  /** there is no default, and nothing works without it */
  readonly required?: boolean
  /** the default, as a file would have it */
  readonly fallback?: unknown
  /** the default in words, where it is not one value */
  readonly otherwise?: string
  /** what the example shows of a required setting */
  readonly example?: string
  /** each campaign has its own */
  readonly own?: boolean
}

declare module "effect/Schema" {
  namespace Annotations {
    interface Annotations {
      readonly voicegate?: Notes | undefined
    }
  }
}

/** A value that is written as one text. */
export type Text<A> = Schema.Codec<A, string>

export const pattern = (regExp: RegExp) => Schema.String.check(Schema.isPattern(regExp))

/** Reads a text with `parse`, which answers undefined when it does not fit. */
export const parsed = <A>(
  expected: string,
  to: Schema.Codec<A>,
  parse: (text: string) => A | undefined,
  from: Text<string> = Schema.String,
): Text<A> =>
  from.pipe(
    Schema.decodeTo(
      to,
      SchemaTransformation.transformEffect<A, string>({
        decode: (text) => {
          const value = parse(text)
          return value === undefined ? Effect.fail(new SchemaIssue.InvalidValue()) : Effect.succeed(value)
        },
        encode: (value) => Effect.succeed(String(value)),
      }),
    ),
    Schema.annotate({ expected }),
  )

/** A text that `fits`. An editor is told some words alone, though other spellings of them fit too. */
const spelled = (words: ReadonlyArray<string>, fits: (text: string) => boolean): Text<string> =>
  Schema.String.check(Schema.makeFilter(fits, { toJsonSchema: () => ({ enum: [...words] }) }))

const word = <const L extends ReadonlyArray<string>>(
  expected: string,
  words: L,
  find: (text: string) => L[number] | undefined,
): Text<L[number]> =>
  parsed(
    expected,
    Schema.Literals(words),
    find,
    spelled(words, (text) => find(text) !== undefined),
  )

/** A number as JSON has it, or in digits, as the environment does. */
const numeric = (expected: string, to: Schema.Codec<number>, digits: RegExp): Schema.Codec<number, number | string> =>
  Schema.Union([to, pattern(digits)]).pipe(
    Schema.decodeTo(
      to,
      SchemaTransformation.transform<number, number | string>({ decode: Number, encode: (value) => value }),
    ),
    Schema.annotate({ expected }),
  )

export const wholeNumber = (minimum: number, maximum: number) =>
  numeric(
    `a whole number from ${minimum} to ${maximum}`,
    Schema.Int.check(Schema.isBetween({ minimum, maximum })),
    /^\d{1,15}$/u,
  )

/** Up to 1, with at most four decimal places. */
export const fraction = (minimum: number) =>
  numeric(
    `a number from ${minimum} to 1, such as 0.25`,
    Schema.Finite.check(Schema.isBetween({ minimum, maximum: 1 })),
    /^(?:[01]|[01]?\.\d{1,4})$/u,
  )

const TRUE = ["true", "1", "yes", "on"]
const FALSE = ["false", "0", "no", "off"]

const flagOf = (text: string): boolean | undefined => {
  const lower = text.toLowerCase()
  return TRUE.includes(lower) || (FALSE.includes(lower) ? false : undefined)
}

export const flag: Schema.Codec<boolean, boolean | string> = Schema.Union([
  Schema.Boolean,
  parsed(
    "true or false",
    Schema.Boolean,
    flagOf,
    spelled([...TRUE, ...FALSE], (text) => flagOf(text) !== undefined),
  ),
]).annotate({ expected: "true or false" })

export const oneOf = <const L extends ReadonlyArray<string>>(words: L): Text<L[number]> =>
  word(words.join(" or "), words, (text) => words.find((each) => each === text.toLowerCase()))

const letters = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, "")

/** One of several domains, with or without its ending. */
export const domain = <const L extends ReadonlyArray<string>>(domains: L): Text<L[number]> =>
  word(`one of ${domains.join(", ")}`, domains, (text) =>
    domains.find((name) => [name, name.replace(/\.[a-z]+$/, "")].some((form) => letters(form) === letters(text))),
  )

export const text: Text<string> = pattern(/^\P{Cc}{1,4096}$/u).annotate({ expected: "a text" })

/** Part of a path or a key of the store, so without a slash or a space. */
export const identifier: Text<string> = pattern(/^[^\s/\\\p{Cc}]{1,256}$/u).annotate({
  expected: "an id without spaces and slashes",
})

/** What a value is annotated with, and more, for what is made of it. */
export const withNotes = (value: Schema.Top, notes: Notes) => {
  const { expected, voicegate } = Schema.resolveAnnotations(value) ?? {}
  return { expected, voicegate: { ...voicegate, ...notes } }
}

export const unique = <A>(items: ReadonlyArray<A>): ReadonlyArray<A> => [...new Set(items)]

/** A list, or the one item that it has; each item once. */
export const list = <A>(item: Text<A>): Schema.Codec<ReadonlyArray<A>, string | ReadonlyArray<string>> => {
  const text = Schema.toEncoded(item)
  return Schema.Union([text, Schema.Array(text)]).pipe(
    Schema.decodeTo(
      Schema.Array(item),
      SchemaTransformation.transform<ReadonlyArray<string>, string | ReadonlyArray<string>>({
        decode: (given) => [given].flat(),
        encode: (items) => items,
      }),
    ),
    Schema.decodeTo(
      Schema.Array(Schema.toType(item)),
      SchemaTransformation.transform({ decode: unique, encode: unique }),
    ),
    Schema.annotate(withNotes(item, { list: true })),
  )
}
