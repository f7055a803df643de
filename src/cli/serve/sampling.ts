/**
 * Head sampling of traces by `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG`, with the names of
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#general-sdk-configuration
 *
 * Whether a trace is kept is decided when its first span begins, and applies to every span of this process. In a trace that another
 * process has begun, such as another gate or a trusted proxy (`Server.TraceParent`), a `parentbased_` sampler follows that process,
 * and the others decide by the trace's id: gates with the same ratio agree.
 */
import { Config, Effect, Layer, Option, Tracer } from "effect"
import { SettingsInvalid } from "../../settings/problems.ts"

const SAMPLER = "OTEL_TRACES_SAMPLER"
const ARGUMENT = "OTEL_TRACES_SAMPLER_ARG"

/** The share of traces that each sampler keeps; `undefined`: as its argument says. */
const SAMPLERS: Readonly<Record<string, number | undefined>> = {
  always_on: 1,
  always_off: 0,
  traceidratio: undefined,
  parentbased_always_on: 1,
  parentbased_always_off: 0,
  parentbased_traceidratio: undefined,
}

/** Bits of a trace id that decide: as many as a number holds exactly, from the end, where W3C Trace Context requires random ones. */
const HEX_DIGITS = 13
const MAX = 16 ** HEX_DIGITS

/** Whether a trace is among this share of all: the same for every service that decides by the same ratio. */
export const isSampled = (traceId: string, ratio: number): boolean =>
  Number.parseInt(traceId.slice(-HEX_DIGITS), 16) >= (1 - ratio) * MAX

export interface Sampling {
  /** the share of the traces that is kept */
  readonly ratio: number
  /** whether the decision of another process is followed */
  readonly parentBased: boolean
}

/** A tracer that marks only this share of the traces as sampled. */
export const sampling = (tracer: Tracer.Tracer, { parentBased, ratio }: Sampling): Tracer.Tracer =>
  Tracer.make({
    ...tracer,
    span: (options) => {
      const parent = Option.getOrUndefined(options.parent)
      if (parent !== undefined) {
        // Effect passes the decision of a parent on
        if (parentBased || parent._tag === "Span") return tracer.span(options)
        return tracer.span({ ...options, sampled: isSampled(parent.traceId, ratio) })
      }
      if (!options.sampled) return tracer.span(options)
      const span = tracer.span(options)
      return isSampled(span.traceId, ratio) ? span : tracer.span({ ...options, sampled: false })
    },
  })

/** An empty variable counts as absent, as OpenTelemetry defines. */
const variable = (name: string) =>
  Effect.map(Config.String(name).pipe(Config.withDefault("")), (text) => text.trim().toLowerCase())

const invalid = (path: string, expected: string) => new SettingsInvalid({ problems: [{ path, expected }] })

const readSampling = Effect.gen(function* () {
  const name = (yield* variable(SAMPLER)) || "parentbased_always_on"
  if (!Object.hasOwn(SAMPLERS, name)) {
    return yield* invalid(SAMPLER, `one of ${Object.keys(SAMPLERS).join(", ")}`)
  }
  const parentBased = name.startsWith("parentbased_")
  const fixed = SAMPLERS[name]
  if (fixed !== undefined) return { ratio: fixed, parentBased }
  const argument = (yield* variable(ARGUMENT)) || "1"
  const ratio = Number(argument)
  return ratio >= 0 && ratio <= 1 ? { ratio, parentBased } : yield* invalid(ARGUMENT, "a number from 0 to 1")
}).pipe(Effect.catchTag("ConfigError", ({ message }) => invalid("OTEL_…", message)))

/** Samples the traces of the tracer that this layer is given. Without one it does nothing, and reads no variable. */
export const sampler = Layer.effect(
  Tracer.Tracer,
  Effect.gen(function* () {
    const tracer = yield* Tracer.Tracer
    if (tracer === Tracer.nativeTracer) return tracer
    const read = yield* readSampling
    return read.ratio === 1 && read.parentBased ? tracer : sampling(tracer, read)
  }),
)
