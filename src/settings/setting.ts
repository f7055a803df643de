/**
 * How one setting is declared: the schema of its value, what it is when it is absent, and the words that explain it. `--help`, the
 * `docs/configuration.md`, `settings.schema.json` and the example are made of these annotations.
 */
import { Effect, Schema } from "effect"
import { type Notes, withNotes } from "./values.ts"

/** What explains a setting; Markdown, of which only code spans are used. */
interface Words {
  /** one line, without a full stop */
  readonly description: string
  /** sentences that only `docs/configuration.md` has, links included, without the last full stop */
  readonly documentation?: string
  /** of a campaign's setting: each campaign has its own, and inherits none */
  readonly own?: boolean
}

const explained = (value: Schema.Top, { own = false, ...words }: Words, notes: Notes) => ({
  ...words,
  ...withNotes(value, { ...notes, own }),
})

/** Must be given. The example shows `example`. */
export const required = <A, E>(value: Schema.Codec<A, E>, example: string, words: Words) =>
  value.pipe(Schema.annotateKey(explained(value, words, { required: true, example })))

/** Is `fallback` when it is absent, as a file would have it. */
export const withDefault = <A, E, const F extends E & (boolean | number | string)>(
  value: Schema.Codec<A, E>,
  fallback: F,
  words: Words,
) =>
  value.pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(fallback)),
    Schema.annotateKey(explained(value, words, { fallback })),
  )

/** Is undefined when it is absent, which means what `otherwise` says. */
export const optional = <A, E>(value: Schema.Codec<A, E>, otherwise: string, words: Words) =>
  Schema.UndefinedOr(value).pipe(
    Schema.withDecodingDefaultTypeKey(Effect.succeed(undefined)),
    Schema.annotateKey(explained(value, words, { otherwise })),
  )

/** A list that is `fallback` when it is absent, which `otherwise` says in words. */
export const listWithDefault = <A, E>(
  value: Schema.Codec<ReadonlyArray<A>, E>,
  fallback: NoInfer<ReadonlyArray<A>>,
  otherwise: string,
  words: Words,
) =>
  value.pipe(
    Schema.withDecodingDefaultTypeKey(Effect.succeed(fallback)),
    Schema.annotateKey(explained(value, words, { fallback, otherwise })),
  )
