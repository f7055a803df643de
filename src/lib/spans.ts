/**
 * Spans of what the gate does, for a host that provides a tracer. `src/docs/monitoring.md` lists their names.
 *
 * No span holds a secret, a ticket, a session's URL or a caller's address. That is why a span of the gate does not end with the
 * effect's own exit: a result has a URL, `Queued` has a ticket, and the message of an error or a defect may quote anything.
 * A failure that is an answer to a caller ends a span as a success, with its tag as `voicegate.outcome`.
 *
 * Without a tracer, `Effect.withSpan` costs 5 µs, and `inSpan` 0.1 µs. A layer of the hot path checks once whether there is a tracer
 * (`tracing`); without one its functions stay as they are.
 */
import { Cause, Clock, Effect, Exit, type Fiber, Predicate, Tracer } from "effect"

export type Attributes = Readonly<Record<string, string | number | boolean>>

export interface SpanOptions<A> {
  readonly attributes?: Attributes
  readonly kind?: Tracer.SpanKind
  /** whether it begins a trace */
  readonly root?: boolean
  /** a span of another process whose trace it continues, with a link to the current span; no effect if the current span is in that trace */
  readonly continues?: Tracer.ExternalSpan | undefined
  /** a span of another trace that led to it */
  readonly link?: Tracer.AnySpan | undefined
  /** the tags of failures that are no errors */
  readonly answers?: ReadonlySet<string> | undefined
  /** attributes of a success */
  readonly result?: (value: A) => Attributes
  /** called with the span when it begins */
  readonly begun?: ((span: Tracer.Span) => void) | undefined
}

const isTraced = ({ cache: { tracer, tracerEnabled } }: Fiber.Fiber<unknown, unknown>): boolean =>
  tracerEnabled && tracer !== undefined && tracer !== Tracer.nativeTracer

/** What joins a line of the log to a trace, as OpenTelemetry names it in logs that are not its own. */
export interface TraceFields {
  readonly trace_id: string
  readonly span_id: string
}

/** The fields of a span; undefined for one that is not sampled, since nobody can find it. */
export const traceFields = ({ sampled, spanId, traceId }: Tracer.AnySpan): TraceFields | undefined =>
  sampled ? { trace_id: traceId.padStart(32, "0"), span_id: spanId } : undefined

/** The fields of the span in which a fiber is, if it has a tracer. */
export const traceFieldsOf = (fiber: Fiber.Fiber<unknown, unknown>): TraceFields | undefined => {
  const { span } = fiber.cache
  return span === undefined || !isTraced(fiber) ? undefined : traceFields(span)
}

const tagOf = (error: unknown): string =>
  Predicate.hasProperty(error, "_tag") && typeof error._tag === "string" ? error._tag : "unknown"

const NAME = /^[a-z][a-z_]{0,39}$/i

/** What a failure says about its reason, if it does. */
const reasonOf = (error: unknown): Attributes => {
  const { kind, limit, reason = limit ?? kind }: Partial<Record<string, unknown>> = Object(error)
  if (reason === undefined) return {}
  // a host's own error may have any text there
  return { "voicegate.reason": typeof reason === "string" && NAME.test(reason) ? reason : tagOf(reason) }
}

/** An error with the tag of this one, for a span. */
export const withoutMessage = (error: unknown): Error =>
  Object.assign(new Error("See the log."), { name: tagOf(error) })

/** The end of a span: its exit without the result and without any message, and the attributes of the outcome. */
const endOf = <A, E>(
  exit: Exit.Exit<A, E>,
  { answers, result }: SpanOptions<A>,
): readonly [exit: Exit.Exit<void, Error>, attributes: Attributes] => {
  if (Exit.isSuccess(exit)) return [Exit.void, result?.(exit.value) ?? {}]
  const { cause } = exit
  const failure = cause.reasons.find(Cause.isFailReason)
  if (failure !== undefined) {
    const tag = tagOf(failure.error)
    const attributes = { "voicegate.outcome": tag, ...reasonOf(failure.error) }
    return [answers?.has(tag) ? Exit.void : Exit.fail(withoutMessage(failure.error)), attributes]
  }
  const defect = cause.reasons.find(Cause.isDieReason)?.defect
  if (defect === undefined) return [Exit.interrupt(), { "voicegate.outcome": "interrupted" }]
  const name = defect instanceof Error ? defect.name : typeof defect
  return [Exit.die(new Error(`A defect (${name}): see the log.`)), { "voicegate.outcome": "defect" }]
}

const addTo = (span: Tracer.Span, attributes: Attributes): void => {
  for (const [name, value] of Object.entries(attributes)) span.attribute(name, value)
}

/** Runs an effect in a span, if its fiber has a tracer. For what is not on the hot path. */
export const inSpan =
  <A>(name: string, options: SpanOptions<A> = {}) =>
  <B extends A, E, R>(effect: Effect.Effect<B, E, R>): Effect.Effect<B, E, R> =>
    Effect.withFiber((fiber) => {
      if (!isTraced(fiber)) return effect
      const { attributes, begun, continues, kind = "internal", link, root = false } = options
      const current = root ? undefined : fiber.cache.span
      const parent = continues?.traceId === current?.traceId ? undefined : continues
      const links = [link, parent === undefined ? undefined : current]
        .filter((span) => span !== undefined)
        .map((span) => ({ span, attributes: {} }))
      return Effect.useSpan(name, { kind, root, parent, links, attributes }, (span) => {
        begun?.(span)
        return Effect.onExit(asChildOf(span)(effect), (exit) =>
          Effect.map(Clock.Clock, (clock) => {
            const [end, outcome] = endOf(exit, options)
            addTo(span, outcome)
            // the first end counts, so `useSpan` does not end it with the effect's own exit
            span.end(clock.currentTimeNanosUnsafe(), end)
          }),
        )
      })
    })

const asChildOf =
  (span: Tracer.Span) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(effect, Tracer.ParentSpan, span)

/** Gives a function of the hot path a span for each call. The options may depend on the arguments. */
export type Traced = <Args extends ReadonlyArray<unknown>, A, E, R>(
  name: string,
  call: (...args: Args) => Effect.Effect<A, E, R>,
  options?: (...args: Args) => SpanOptions<A>,
) => (...args: Args) => Effect.Effect<A, E, R>

const traced: Traced =
  (name, call, options) =>
  (...args) =>
    // called within the span, since some functions work when they are called and not when their effect runs
    inSpan(name, options?.(...args))(Effect.suspend(() => call(...args)))

const untraced: Traced = (_name, call) => call

export const hasTracer: Effect.Effect<boolean> = Effect.withFiber((fiber) => Effect.succeed(isTraced(fiber)))

/** Looks once whether there is a tracer; without one, functions are left as they are. For layers of the hot path. */
export const tracing: Effect.Effect<Traced> = Effect.map(hasTracer, (is) => (is ? traced : untraced))
