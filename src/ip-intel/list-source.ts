/**
 * One offline list: a file or an http(s) URL with one address or CIDR per line. Only the first column of a CSV is read; comments
 * (`#`, `;`) and blank lines are skipped; any other line is counted as bad and ignored.
 */
import { readFile } from "node:fs/promises"
import { Effect, Schema } from "effect"
import type { HttpClient } from "effect/http"
import { boundedText, MAX_LIST_BYTES, withoutClientSpan } from "../lib/http-client.ts"
import { parseRange, type Range, RangeSet } from "../lib/ip/ranges.ts"
import { inSpan } from "../lib/spans.ts"

/** The message contains its location without credentials or query. */
export class ListFailed extends Schema.TaggedError<ListFailed>()("ListFailed", { message: Schema.String }) {}

export interface LoadedList {
  readonly ranges: RangeSet
  /** lines that are neither an address nor a CIDR */
  readonly badLines: number
  /** from 1; 0 when there is none */
  readonly firstBadLine: number
}

const LOAD_TIMEOUT = "20 seconds"
/** Lines parsed between yields to other fibers, so that a long list does not delay callers. */
const LINES_PER_YIELD = 2_000

export const isRemote = (location: string): boolean => /^https?:\/\//i.test(location)

/** The location, safe to print: an http URL may contain credentials, or a token in its query. */
export const labelOf = (location: string): string => {
  if (!isRemote(location)) return location
  const url = URL.parse(location)
  return url === null ? "an invalid http URL" : url.origin + url.pathname
}

export const parseList = Effect.fnUntraced(function* (text: string): Effect.fn.Return<LoadedList> {
  const ranges: Array<Range> = []
  let badLines = 0
  let firstBadLine = 0
  let number = 0
  for (const line of text.split("\n")) {
    number += 1
    if (number % LINES_PER_YIELD === 0) yield* Effect.yieldNow
    const cell = line.split(/[,;#]/, 1)[0] ?? ""
    const entry = cell
      .replace(/^\uFEFF/, "")
      .replaceAll('"', "")
      .trim()
    if (entry === "") continue
    const range = parseRange(entry)
    if (range !== undefined) ranges.push(range)
    else {
      badLines += 1
      if (firstBadLine === 0) firstBadLine = number
    }
  }
  return { ranges: new RangeSet(ranges), badLines, firstBadLine }
})

const download = (client: HttpClient.HttpClient, location: string): Effect.Effect<string, ListFailed> => {
  const failed = (what: string) => new ListFailed({ message: `${labelOf(location)}: ${what}` })
  return client.get(location).pipe(
    Effect.mapError(() => failed("could not be reached")),
    Effect.flatMap((response) =>
      response.status === 200
        ? Effect.mapError(boundedText(response, MAX_LIST_BYTES), () => failed("the download broke off, or is too long"))
        : Effect.fail(failed(`answered HTTP ${response.status}`)),
    ),
    Effect.timeoutOrElse({
      duration: LOAD_TIMEOUT,
      orElse: () => Effect.fail(failed(`did not arrive within ${LOAD_TIMEOUT}`)),
    }),
    withoutClientSpan,
    inSpan("IpIntel.download"),
  )
}

const read = (path: string): Effect.Effect<string, ListFailed> =>
  Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (cause) =>
      new ListFailed({
        message: `${path}: cannot be read (${cause instanceof Error ? cause.message : String(cause)})`,
      }),
  })

/** Fails for a list with only bad lines and for an empty download, which are most likely error pages. */
export const loadList = Effect.fnUntraced(function* (
  client: HttpClient.HttpClient,
  location: string,
): Effect.fn.Return<LoadedList, ListFailed> {
  const list = yield* parseList(yield* isRemote(location) ? download(client, location) : read(location))
  if (list.ranges.size === 0 && (list.badLines > 0 || isRemote(location))) {
    return yield* new ListFailed({ message: `${labelOf(location)}: contains no address` })
  }
  return list
})
