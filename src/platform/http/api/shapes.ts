/** Schemas shared by several groups: names, times, pages. */
import { DateTime, Schema } from "effect"
import { MAX_NAME } from "../../businesses/Businesses.ts"
import { MAX_PAGE, type Page } from "../../data/page.ts"
import { NameText, Text } from "../../text.ts"

export const described = <S extends Schema.Top>(schema: S, description: string): S["Rebuild"] =>
  schema.annotate({ description })

export const Id = Text.check(Schema.isBetweenLength(1, 256))
export const Name = NameText.check(Schema.isBetweenLength(1, MAX_NAME))
export const Time = described(Schema.String, "ISO 8601")
export const OptionalTime = described(Schema.NullOr(Schema.String), "ISO 8601, or null")

export const iso = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))
export const isoOrNull = (millis: number | null): string | null => (millis === null ? null : iso(millis))

export const businessPath = { businessId: Id }

export const FilterTime = Schema.optionalKey(Schema.DateTimeUtcFromString)
export const millisOf = (time: DateTime.Utc | undefined): number | undefined => time && DateTime.toEpochMillis(time)

const Cursor = Schema.optionalKey(Schema.NullOr(Text.check(Schema.isMaxLength(1024))))

/** The request body of a list: limit, cursor and filter. */
export const listBody = <S extends Schema.Constraint>(filter: S) =>
  Schema.Struct({
    limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: MAX_PAGE }))),
    nextCursor: described(Cursor, "continues after the page that returned it, with older entries"),
    previousCursor: described(Cursor, "goes back before the page that returned it, to newer entries"),
    filter: Schema.optionalKey(Schema.NullOr(filter)),
  })

/** An object without fields. */
export const NoFilter = Schema.Record(Schema.String, Schema.Never)

/** A page of a list, newest first; a cursor is null at the end of the list. */
export const pageOf = <S extends Schema.Constraint>(item: S) =>
  Schema.Struct({
    items: Schema.Array(item),
    nextCursor: Schema.NullOr(Schema.String),
    previousCursor: Schema.NullOr(Schema.String),
  })

export const mapPage = <A, B>({ items, ...cursors }: Page<A>, show: (item: A) => B): Page<B> => ({
  ...cursors,
  items: items.map(show),
})
