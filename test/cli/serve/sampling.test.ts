/** Which traces are sampled, by the standard variables of OpenTelemetry. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Tracer } from "effect"
import { isSampled, sampler } from "../../../src/cli/serve/sampling.ts"
import { recorder } from "../../support/span-recorder.ts"

const TRACES = 1_000

/** Begins traces of a parent and a child each, and returns whether each of these spans is sampled. */
const traces = (variables: Readonly<Record<string, string>>) => {
  const { tracer } = recorder()
  const layer = sampler.pipe(
    Layer.provide(Layer.succeed(Tracer.Tracer, tracer)),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(variables))),
  )
  const trace = Effect.useSpan("parent", { root: true }, (parent) =>
    Effect.useSpan("child", { parent }, (child) => Effect.succeed({ parent, child })),
  )
  return Effect.provide(Effect.all(Array.from({ length: TRACES }, () => trace)), layer)
}

const share = (variables: Readonly<Record<string, string>>) =>
  Effect.map(traces(variables), (all) => all.filter(({ parent }) => parent.sampled).length / TRACES)

describe("the sampler of traces", () => {
  it.effect.each([
    ["unset", {}, 1],
    ["empty", { OTEL_TRACES_SAMPLER: "" }, 1],
    ["always_on", { OTEL_TRACES_SAMPLER: "always_on", OTEL_TRACES_SAMPLER_ARG: "0" }, 1],
    ["always_off", { OTEL_TRACES_SAMPLER: "always_off" }, 0],
    ["parentbased_always_on", { OTEL_TRACES_SAMPLER: "parentbased_always_on" }, 1],
    ["parentbased_always_off", { OTEL_TRACES_SAMPLER: "parentbased_always_off" }, 0],
    ["a ratio without its argument", { OTEL_TRACES_SAMPLER: "traceidratio" }, 1],
    ["a ratio of 0", { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" }, 0],
    ["in capital letters", { OTEL_TRACES_SAMPLER: "ALWAYS_OFF" }, 0],
  ] as const)("keeps all or none: %s", ([, variables, expected]) =>
    Effect.map(share(variables), (found) => assert.strictEqual(found, expected)),
  )

  it.effect.each(["traceidratio", "parentbased_traceidratio"])("keeps about the given share: %s", (name) =>
    Effect.gen(function* () {
      const all = yield* traces({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: "0.25" })
      const kept = all.filter(({ parent }) => parent.sampled)
      // ten times the standard deviation, 0.0137
      assert.closeTo(kept.length / TRACES, 0.25, 0.137)
      for (const { child, parent } of all) {
        assert.strictEqual(child.sampled, parent.sampled)
        assert.strictEqual(child.traceId, parent.traceId)
      }
      for (const { parent } of kept) assert.isTrue(isSampled(parent.traceId, 0.25))
    }),
  )

  it.effect.each([
    ["parentbased_always_on", "", [true, false]],
    ["parentbased_always_off", "", [true, false]],
    ["parentbased_traceidratio", "0", [true, false]],
    ["always_on", "", [true, true]],
    ["always_off", "", [false, false]],
    ["traceidratio", "0", [false, false]],
  ] as const)("%s %s follows another process, or decides by itself", ([name, argument, expected]) =>
    Effect.gen(function* () {
      const { tracer } = recorder()
      const layer = sampler.pipe(
        Layer.provide(Layer.succeed(Tracer.Tracer, tracer)),
        Layer.provide(
          ConfigProvider.layer(
            ConfigProvider.fromUnknown({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument }),
          ),
        ),
      )
      const continued = (sampled: boolean) => {
        const parent = Tracer.externalSpan({ traceId: "f".repeat(32), spanId: "1".repeat(16), sampled })
        return Effect.useSpan("continued", { parent }, (span) =>
          // the spans below follow
          Effect.useSpan("child", { parent: span }, (child) => {
            assert.strictEqual(child.sampled, span.sampled)
            return Effect.succeed(span.sampled)
          }),
        )
      }
      const found = yield* Effect.provide(Effect.all([continued(true), continued(false)]), layer)
      assert.deepStrictEqual(found, [...expected])
    }),
  )

  it("decides by the last digits of a trace id, alike for every service", () => {
    const id = (digits: string) => "0".repeat(32 - digits.length) + digits
    assert.isTrue(isSampled(id("fffffffffffff"), 0.000_001))
    assert.isFalse(isSampled(id("fffffffffffff"), 0))
    assert.isTrue(isSampled(id("0"), 1))
    assert.isTrue(isSampled(id("8000000000000"), 0.5))
    assert.isFalse(isSampled(id("7ffffffffffff"), 0.5))
  })

  it.effect.each([
    ["xray", {}, "OTEL_TRACES_SAMPLER: one of always_on, always_off, traceidratio"],
    ["toString", {}, "OTEL_TRACES_SAMPLER: one of"],
    ["traceidratio", { OTEL_TRACES_SAMPLER_ARG: "10 %" }, "OTEL_TRACES_SAMPLER_ARG: a number from 0 to 1"],
    ["traceidratio", { OTEL_TRACES_SAMPLER_ARG: "1.5" }, "OTEL_TRACES_SAMPLER_ARG: a number from 0 to 1"],
    ["parentbased_traceidratio", { OTEL_TRACES_SAMPLER_ARG: "-0.1" }, "OTEL_TRACES_SAMPLER_ARG: a number"],
  ] as const)("refuses what it does not know: %s %o", ([name, more, message]) =>
    Effect.map(Effect.flip(traces({ OTEL_TRACES_SAMPLER: name, ...more })), (error) => {
      assert(error._tag === "SettingsInvalid")
      const [problem] = error.problems
      assert.include(`${problem?.path}: ${problem?.expected}`, message)
    }),
  )

  it.effect("leaves a process without an exporter alone, whatever the variables say", () =>
    Effect.gen(function* () {
      const layer = Layer.provide(
        sampler,
        ConfigProvider.layer(ConfigProvider.fromUnknown({ OTEL_TRACES_SAMPLER: "xray" })),
      )
      const tracer = yield* Effect.provide(Effect.tracer, layer)
      assert.strictEqual(tracer, Tracer.nativeTracer)
    }),
  )
})
