/**
 * How one setting is declared: the schema of its value, what it is when it is absent, and the words that explain it. `--help`, the
 * README, `settings.schema.json` and the example are made of these annotations.
 */
import { Effect, Schema } from "effect"
import { notesOf } from "./values.ts"

declare module "effect/Schema" {
  namespace Annotations {
    interface Annotations {
      /** there is no default, and nothing works without it */
      readonly required?: boolean | undefined
      /** the default, as a file would have it */
      readonly fallback?: unknown
      /** what the example shows of a required setting */
      readonly example?: string | undefined
      /** the default in words, where it is not one value */
      readonly otherwise?: string | undefined
    }
  }
}

/** What explains a setting; Markdown, of which only code spans are used. */
interface Words {
  /** one line, without a full stop */
  readonly description: string
  /** sentences that only the README has */
  readonly documentation?: string
}

/** Must be given. The example shows `example`. */
export const required = <A, E>(value: Schema.Codec<A, E>, example: string, words: Words): Schema.Codec<A, E> =>
  value.pipe(Schema.annotateKey({ ...notesOf(value), ...words, required: true, example }))

/** Is `fallback` when it is absent, as a file would have it. */
export const withDefault = <A, E, const F extends E & (boolean | number | string)>(
  value: Schema.Codec<A, E>,
  fallback: F,
  words: Words,
) =>
  value.pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(fallback)),
    Schema.annotateKey({ ...notesOf(value), ...words, fallback }),
  )

/** Is undefined when it is absent, and then what `otherwise` says. */
export const optional = <A, E>(value: Schema.Codec<A, E>, otherwise: string, words: Words) =>
  Schema.UndefinedOr(value).pipe(
    Schema.withDecodingDefaultTypeKey(Effect.succeed(undefined)),
    Schema.annotateKey({ ...notesOf(value), ...words, otherwise }),
  )

/** A list that is empty when it is absent, or what `otherwise` says. */
export const listWithDefault = <A, E>(
  value: Schema.Codec<ReadonlyArray<A>, E>,
  fallback: NoInfer<ReadonlyArray<A>>,
  otherwise: string,
  words: Words,
) =>
  value.pipe(
    Schema.withDecodingDefaultTypeKey(Effect.succeed(fallback)),
    Schema.annotateKey({ ...notesOf(value), ...words, fallback, otherwise }),
  )
