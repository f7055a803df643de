/**
 * Declares a setting: the schema of its value, its default and its description. `--help`, `docs/configuration.md`,
 * `settings.schema.json` and the example are generated from these annotations.
 */
import { Effect, Schema, Struct } from "effect"
import { type Notes, withNotes } from "./values/values.ts"

/** Texts that describe a setting, in Markdown with code spans only. */
interface SettingTexts {
  /** one line, without a full stop */
  readonly description: string
  /** further sentences for `docs/configuration.md`, which may contain links, without the last full stop */
  readonly documentation?: string
  /** for a campaign's setting: it is not inherited */
  readonly own?: boolean
  /** gates on one store must have the same value; those that differ are reported (`gatekeeper/peers/settings-diff.ts`) */
  readonly shared?: boolean
}

const annotationsFor = (value: Schema.Top, { own = false, shared = false, ...texts }: SettingTexts, notes: Notes) => ({
  ...texts,
  ...withNotes(value, { ...notes, own, shared }),
})

/** The example file contains `example`, which is refused as a value. */
export const required = <A, E>(value: Schema.Codec<A, E>, example: string, texts: SettingTexts) =>
  value.pipe(Schema.annotateKey(annotationsFor(value, texts, { required: true, example })))

/** A setting of a vendor, which is required where a campaign's `Platform` is that vendor. */
export const requiredWith = <A, E>(platform: string, value: Schema.Codec<A, E>, texts: SettingTexts) =>
  value.pipe(Schema.annotateKey(annotationsFor(value, texts, { defaultText: `needed with \`${platform}\`` })))

/** A setting with the default `fallback`, as written in a file. */
export const withDefault = <A, E, const F extends E & (boolean | number | string)>(
  value: Schema.Codec<A, E>,
  fallback: F,
  texts: SettingTexts,
) =>
  value.pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(fallback)),
    Schema.annotateKey(annotationsFor(value, texts, { fallback })),
  )

/** `defaultText` describes what its absence means. */
export const optional = <A, E>(value: Schema.Codec<A, E>, defaultText: string, texts: SettingTexts) =>
  Schema.UndefinedOr(value).pipe(
    Schema.withDecodingDefaultTypeKey(Effect.succeed(undefined)),
    Schema.annotateKey(annotationsFor(value, texts, { defaultText })),
  )

/** `defaultText` describes `fallback`. */
export const listWithDefault = <A, E>(
  value: Schema.Codec<ReadonlyArray<A>, E>,
  fallback: NoInfer<ReadonlyArray<A>>,
  defaultText: string,
  texts: SettingTexts,
) =>
  value.pipe(
    Schema.withDecodingDefaultTypeKey(Effect.succeed(fallback)),
    Schema.annotateKey(annotationsFor(value, texts, { fallback, defaultText })),
  )

const namesWith =
  (note: "own" | "shared") =>
  <F extends Schema.Struct.Fields>(fields: F): ReadonlyArray<keyof F & string> =>
    Struct.keys(fields).filter((name) => {
      const field = fields[name]
      return field !== undefined && Schema.resolveAnnotationsKey(field)?.voicegate?.[note] === true
    })

/** The names of the settings among these that a further campaign does not inherit. */
export const ownNames = namesWith("own")

/** The names of the settings among these that gates on one store must share. */
export const sharedNames = namesWith("shared")
