/** Times on the command line: how long (`30m`), how long ago (`-1h`), in how long (`+30m`), or a time of day with its zone. */
import { Clock, DateTime, Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"

const DURATION = /^(\d{1,4})(m|h|d|w)$/
const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const
const isUnit = (text: string): text is keyof typeof UNITS => text in UNITS

/** `90m`, `1h`, `7d`, `2w` in milliseconds. */
export const durationOf = (text: string): Option.Option<number> => {
  const [, number = "", unit = ""] = DURATION.exec(text) ?? []
  return isUnit(unit) && Number(number) > 0 ? Option.some(Number(number) * UNITS[unit]) : Option.none()
}

/** A time (ms since 1970), once the present one is known. */
type At = (now: number) => number

const decodeTime = Schema.decodeUnknownOption(Schema.DateTimeUtcFromString)

/** A time without its zone would be another one on the machine of another operator, so it is none. */
const absolute = (text: string): Option.Option<At> =>
  /(Z|[+-]\d\d:?\d\d)$/.test(text)
    ? Option.map(decodeTime(text), (time) => () => DateTime.toEpochMillis(time))
    : Option.none()

const relative = (text: string, sign: "+" | "-"): Option.Option<At> =>
  text.startsWith(sign)
    ? Option.map(durationOf(text.slice(1)), (millis) => (now) => (sign === "-" ? now - millis : now + millis))
    : Option.none()

const EXAMPLE = "a time with its zone, such as 2026-11-24T14:00+01:00"

const timeFlag = (name: string, sign: "+" | "-", example: string, description: string): Flag.Flag<number> =>
  Flag.String(name).pipe(
    Flag.withDescription(`${description}. Either ${example}, or ${EXAMPLE}`),
    Flag.filterMap(
      (text) => Option.orElse(relative(text, sign), () => absolute(text)),
      () => `Expected ${example}, or ${EXAMPLE}`,
    ),
    Flag.mapEffect((at) => Effect.map(Clock.currentTimeMillis, at)),
  )

/** When a pause ends by itself (ms since 1970). */
export const until = timeFlag(
  "until",
  "+",
  "+30m for in half an hour (m, h, d or w)",
  "when the pause ends by itself; waiting callers see the time, and without it the pause ends with resume",
).pipe(Flag.optional)

/** From when on (ms since 1970); 0 for all. */
export const since = timeFlag(
  "since",
  "-",
  "-1h for an hour ago (m, h, d or w)",
  "only events since this time, all when absent",
).pipe(Flag.withDefault(0))

/** The arguments with `--since -1h` as `--since=-1h`, because an argument with a hyphen is read as flags. */
export const withTimesAttached = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.flatMap((text, n) => {
    if (text === "--since" && /^-\d/.test(args[n + 1] ?? "")) return `--since=${args[n + 1]}`
    return args[n - 1] === "--since" && /^-\d/.test(text) ? [] : text
  })
