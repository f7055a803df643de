/**
 * Sends spans of a gate that runs alone to an OpenTelemetry collector, as the `OTEL_…` variables say. The cost of a collector is bounded,
 * because every caller's request makes spans: when the collector fails or is too slow, the spans of a minute are dropped.
 */

import { Cause, Config, ConfigProvider, Effect, Layer } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { OtlpSerialization, OtlpTracer } from "effect/observability"
import { packageVersion } from "../../serving/package-files.ts"
import { SettingsInvalid } from "../../settings/problems.ts"
import { sampler } from "./sampling.ts"

const version = packageVersion()

/** How long the collector has for one request (ms), and how many requests may be open at once. */
const EXPORT_MILLIS = 2_000
const MAX_EXPORTS = 4
/** How long the last spans may take at the end of the process (ms). The process has ten seconds in total. */
const FLUSH_MILLIS = "1000"

/**
 * Fails with a defect: the exporter repeats errors, and while it does, it opens further requests. After a defect it drops its spans and
 * pauses for 60 s.
 */
const givenUp = (why: string) => Effect.die(new Error(`The trace collector ${why}.`))

const boundedClient = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(HttpClient.HttpClient, (client) => {
    let open = 0
    return HttpClient.transform(client, (response) =>
      Effect.suspend(() => {
        if (open >= MAX_EXPORTS) return givenUp(`has not answered ${open} requests`)
        open++
        return response.pipe(
          // the time limit is for the whole answer
          Effect.tap(({ arrayBuffer }) => arrayBuffer),
          Effect.catch(({ message }) => givenUp(`cannot be reached: ${message}`)),
          Effect.filterOrElse(
            ({ status }) => status < 400,
            ({ status }) => givenUp(`answered ${status}`),
          ),
          Effect.timeoutOrElse({
            duration: EXPORT_MILLIS,
            orElse: () => givenUp(`did not answer within ${EXPORT_MILLIS / 1000} s`),
          }),
          Effect.ensuring(Effect.sync(() => open--)),
        )
      }),
    )
  }),
).pipe(Layer.provide(FetchHttpClient.layer))

/** The exporter uses these timeouts for its last flush, for which OpenTelemetry's default of 10 s would be too long. */
const times = ConfigProvider.layerAdd(
  ConfigProvider.fromUnknown({
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: FLUSH_MILLIS,
    OTEL_EXPORTER_OTLP_TIMEOUT: FLUSH_MILLIS,
    OTEL_BSP_EXPORT_TIMEOUT: FLUSH_MILLIS,
  }),
  { asPrimary: true },
)

const invalid = (path: string, expected: string) => new SettingsInvalid({ problems: [{ path, expected }] })

const isHttpUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/** The exporter accepts any URL, and sends nothing if it is invalid. */
const checkEndpoints = Effect.gen(function* () {
  for (const name of ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]) {
    const url = yield* Config.String(name).pipe(Config.withDefault(""))
    if (url !== "" && !isHttpUrl(url)) return yield* invalid(name, "a URL that begins with http:// or https://")
  }
}).pipe(Effect.catchTag("ConfigError", ({ message }) => invalid("OTEL_…", message)))

/** `service.name` of OTEL_RESOURCE_ATTRIBUTES, a list of `name=value` whose values are percent-encoded. */
const serviceOf = (attributes: string): string => {
  const value = /(?:^|,)\s*service\.name\s*=([^,]*)/.exec(attributes)?.[1]?.trim() ?? ""
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

/** The name of the service, as OpenTelemetry defines it: `OTEL_SERVICE_NAME`, else the attribute; an empty one counts as absent. */
const serviceName = Effect.gen(function* () {
  const name = yield* Config.String("OTEL_SERVICE_NAME").pipe(Config.withDefault(""))
  const attributes = yield* Config.String("OTEL_RESOURCE_ATTRIBUTES").pipe(Config.withDefault(""))
  return name.trim() || serviceOf(attributes) || "voicegate"
}).pipe(Effect.catchTag("ConfigError", ({ message }) => invalid("OTEL_…", message)))

/** Spans are sent as JSON over HTTP, which the port of gRPC does not understand. */
const warnOfProtocol = Effect.gen(function* () {
  for (const name of ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"]) {
    const protocol = yield* Config.String(name).pipe(Config.withDefault(""))
    if (protocol !== "grpc") continue
    yield* Effect.logWarning(
      `${name}=grpc: Spans are sent as JSON over HTTP. Name the collector's HTTP port, usually 4318.`,
    )
  }
}).pipe(Effect.catchTag("ConfigError", ({ message }) => invalid("OTEL_…", message)))

/** With `OTEL_TRACES_EXPORTER=otlp`, a tracer that sends spans to `OTEL_EXPORTER_OTLP_ENDPOINT`; otherwise no tracer. */
const exporter = Layer.unwrap(
  Effect.map(Effect.andThen(Effect.andThen(checkEndpoints, warnOfProtocol), serviceName), (name) =>
    OtlpTracer.layerFromConfig({ resource: { serviceName: name, serviceVersion: version } }).pipe(
      // the exporter fails with a defect on a variable that it cannot read
      Layer.catchCause((cause) => {
        const error = Cause.squash(cause)
        const expected = error instanceof Config.ConfigError ? error.message : String(error)
        return Layer.effectDiscard(invalid("OTEL_…", expected))
      }),
      Layer.provide([OtlpSerialization.layerJson, boundedClient, times]),
    ),
  ),
)

/** The tracer of a gate that runs alone, with its sampler (`sampling.ts`). */
export const tracer = Layer.provideMerge(sampler, exporter)
