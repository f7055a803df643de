/** Figures of this process and of the build, under the names that Prometheus's own clients use. They are read when `/metrics` is. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Effect, Layer, Metric } from "effect"
import { PushChannel } from "../../push-channel/PushChannel.ts"
import { packageVersion } from "../../serving/package-files.ts"
import { ReadDescriptors } from "./file-descriptors.ts"

const version = packageVersion()

/** Unix time of the process's start, in seconds. */
const startedAt = performance.timeOrigin / 1000

/** Registers the figures, which no one has to update. */
export const layer: Layer.Layer<never, never, PushChannel> = Layer.effectDiscard(
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const push = yield* PushChannel
    const descriptors = yield* ReadDescriptors
    const delay = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const histogram = monitorEventLoopDelay({ resolution: 20 })
        histogram.enable()
        return histogram
      }),
      (histogram) => Effect.sync(() => histogram.disable()),
    )
    const nothing = (): void => {}
    const gauge = (name: string, description: string, read: () => number, attributes = {}): void => {
      const metric = Metric.withAttributes(Metric.gauge(name, { description }), attributes)
      Metric.registerUnsafe(metric, context, { get: () => ({ value: read() }), update: nothing, modify: nothing })
    }
    const counter = (name: string, description: string, read: () => number): void => {
      const metric = Metric.counter(name, { description, incremental: true })
      const get = () => ({ count: read(), incremental: true })
      Metric.registerUnsafe(metric, context, { get, update: nothing, modify: nothing })
    }
    gauge("voicegate_build_info", "The version of the program and of Node", () => 1, {
      version,
      node: process.versions.node,
    })
    gauge(
      "voicegate_connected_tickets",
      "Tickets with a push connection here",
      () => Effect.runSync(push.tickets).length,
    )
    gauge("process_start_time_seconds", "When the process started, since 1970", () => startedAt)
    counter("process_cpu_seconds_total", "CPU time of the process, user and system", () => {
      const { system, user } = process.cpuUsage()
      return (system + user) / 1e6
    })
    gauge("process_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss())
    gauge("process_open_fds", "Open file descriptors", () => descriptors().open)
    gauge("process_max_fds", "Maximum of open file descriptors", () => descriptors().max)
    gauge("nodejs_heap_size_used_bytes", "Used part of the JavaScript heap", () => process.memoryUsage().heapUsed)
    gauge("nodejs_eventloop_lag_p99_seconds", "99th percentile of event loop delays since the last scrape", () => {
      const seconds = delay.percentile(99) / 1e9
      delay.reset()
      return Number.isFinite(seconds) ? seconds : 0
    })
  }),
)
