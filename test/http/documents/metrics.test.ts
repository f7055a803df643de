/** `/metrics` from the first scrape on, and the sum of the metrics of several processes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { campaignSeries } from "../../../src/lib/campaign-series.ts"
import { sumMetrics } from "../../../src/serving/sum-metrics.ts"
import { call, servedTest } from "../../support/gate-server.ts"

describe("the metrics", () => {
  servedTest("have every series with known labels before anything was counted", {}, ({ url }) =>
    Effect.gen(function* () {
      const { text } = yield* call(`${url}/metrics`)
      for (const series of [
        'voicegate_requests_total{outcome="started"}',
        'voicegate_blocked_total{reason="tor"}',
        'voicegate_unchecked_total{outcome="blocked",reason="timeout"}',
        'voicegate_called_total{campaign="default"}',
        ...["ended", "left", "abandoned", "missed", "failed", "reclaimed", "removed"].map(
          (state) => `voicegate_over_total{campaign="default",state="${state}"}`,
        ),
        ...["released", "repeat", "unknown", "ignored", "malformed", "unauthorized"].map(
          (result) => `voicegate_webhooks_total{result="${result}"}`,
        ),
        "voicegate_connections_refused_total",
        'voicegate_wait_seconds_count{campaign="default"}',
        'voicegate_start_call_seconds_count{campaign="default"}',
        'voicegate_platform_request_seconds_count{campaign="default",kind="start"}',
        "voicegate_address_lookup_seconds_count",
      ]) {
        assert.isTrue(
          text.split("\n").some((line) => line.startsWith(`${series} `)),
          series,
        )
      }
      // a label with a state that is not terminal would never count
      assert.notInclude(text, 'state="waiting"')
    }),
  )
})

describe("the metrics of budgets", () => {
  const budget = (Name: string, Of: string, Cap: number) => ({ Name, Of, Unit: "minutes", Per: "day", Cap })
  // names of their own: the counters are those of the process, in which other tests count too
  const Budgets = [
    budget("metrics-team", "campaign", 60),
    budget("metrics-spent", "campaign", 0.1),
    budget("metrics-own", "caller", 5),
  ]
  servedTest(
    "begin at 0, because the first count would be no increase, and say which budget refuses new calls",
    { VoiceAiPlatform: { MaxConcurrency: 3, Budgets } },
    ({ url }) =>
      Effect.gen(function* () {
        const { text } = yield* call(`${url}/metrics`)
        const lines = text.split("\n")
        for (const { Name } of Budgets)
          for (const counter of ["alerts", "overrun", "refusals"])
            assert.include(lines, `voicegate_budget_${counter}_total{campaign="default",budget="${Name}"} 0`)
        assert.include(lines, 'voicegate_budget_refusing{campaign="default",budget="metrics-team"} 0')
        assert.include(lines, 'voicegate_budget_refusing{campaign="default",budget="metrics-spent"} 1')
        // a balance of callers is not one number
        assert.notInclude(text, 'voicegate_budget_refusing{campaign="default",budget="metrics-own"}')
      }),
  )
})

describe("the metrics by default", () => {
  const given = { Server: { Metrics: "local" }, Security: { TrustedProxies: ["loopback"] } } as const
  servedTest("are served to this machine, and to nobody whose request a proxy has forwarded", given, ({ url }) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* call(`${url}/metrics`)).status, 200)
      for (const [name, value] of [
        ["x-forwarded-for", "198.51.100.1"],
        ["forwarded", "for=198.51.100.1"],
        ["x-real-ip", "127.0.0.1"],
        ["via", "1.1 proxy"],
      ] as const) {
        const refused = yield* call(`${url}/metrics`, { headers: { [name]: value } })
        assert.deepStrictEqual([refused.status, refused.body.code], [403, "metrics_are_local"])
        assert.include(refused.text, "Server.Metrics")
      }
    }),
  )
})

describe("the series of campaigns", () => {
  it.effect("are bounded in number: campaigns beyond share one", () =>
    Effect.gen(function* () {
      const counter = Metric.counter("voicegate_test_total", { incremental: true })
      const series = campaignSeries((campaign) => Metric.withAttributes(counter, { campaign }))
      for (const tries of [1, 2]) {
        for (let n = 0; n < 1000; n++) yield* Metric.update(series.of(`campaign ${n}`), 1)
        const counts = yield* Effect.forEach(series.all(), (each) => Metric.value(each))
        assert.lengthOf(counts, 201)
        assert.strictEqual(
          counts.reduce((sum, { count }) => sum + count, 0),
          1000 * tries,
        )
      }
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map())),
  )
})

describe("the sum of the metrics of several processes", () => {
  const one = `# HELP a_total Some
# TYPE a_total counter
a_total{x="1"} 3
a_total{x="2 3"} 1
# HELP wait_seconds Wait
# TYPE wait_seconds histogram
wait_seconds_bucket{le="1"} 2
wait_seconds_bucket{le="+Inf"} 4
wait_seconds_sum 5.5
wait_seconds_count 4
# HELP voicegate_waiting Waiting
# TYPE voicegate_waiting gauge
voicegate_waiting{campaign="default"} 7
# HELP process_open_fds Files
# TYPE process_open_fds gauge
process_open_fds 20
# HELP process_max_fds Most files
# TYPE process_max_fds gauge
process_max_fds 1024
# HELP process_resident_memory_bytes Memory
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 19
`
  const other = `# HELP a_total Some
# TYPE a_total counter
a_total{x="1"} 4
# HELP wait_seconds Wait
# TYPE wait_seconds histogram
wait_seconds_bucket{le="1"} 1
wait_seconds_bucket{le="+Inf"} 1
wait_seconds_sum 0.5
wait_seconds_count 1
# HELP voicegate_waiting Waiting
# TYPE voicegate_waiting gauge
voicegate_waiting{campaign="default"} 6
# HELP process_open_fds Files
# TYPE process_open_fds gauge
process_open_fds 22
# HELP process_max_fds Most files
# TYPE process_max_fds gauge
process_max_fds 1024
# HELP process_resident_memory_bytes Memory
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 23
# HELP only_total Here
# TYPE only_total counter
only_total 9
`

  it("adds counters, histograms and memory, and takes the maximum of what each reads from the store, and of open files, whose limit is each one's own", () => {
    assert.deepStrictEqual(
      sumMetrics([one, other])
        .split("\n")
        .filter((line) => !line.startsWith("#")),
      [
        'a_total{x="1"} 7',
        'a_total{x="2 3"} 1',
        'wait_seconds_bucket{le="1"} 3',
        'wait_seconds_bucket{le="+Inf"} 5',
        "wait_seconds_sum 6",
        "wait_seconds_count 5",
        'voicegate_waiting{campaign="default"} 7',
        "process_open_fds 22",
        "process_max_fds 1024",
        "process_resident_memory_bytes 42",
        "only_total 9",
        "",
      ],
    )
  })

  it("has the gauges of a campaign as the process shows them that has read them last", () => {
    const process = (leases: number, slots: number, readAt: number, campaign = "default") =>
      [
        "# TYPE voicegate_leases gauge",
        `voicegate_leases{campaign="${campaign}"} ${leases}`,
        "# TYPE voicegate_platform_state gauge",
        `voicegate_platform_state{campaign="${campaign}",state="ok"} ${slots}`,
        "# TYPE voicegate_gauges_read_at_seconds gauge",
        `voicegate_gauges_read_at_seconds{campaign="${campaign}"} ${readAt}`,
        "",
      ].join("\n")
    const sumOf = (...texts: ReadonlyArray<string>) =>
      sumMetrics(texts)
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"))
    const newest = [
      'voicegate_leases{campaign="default"} 0',
      'voicegate_platform_state{campaign="default",state="ok"} 1',
      'voicegate_gauges_read_at_seconds{campaign="default"} 100.75',
    ]
    const [old, older, last] = [process(2, 0, 100.5), process(3, 0, 99.25), process(0, 1, 100.75)]
    assert.deepStrictEqual(sumOf(old, last, older), newest)
    assert.deepStrictEqual(sumOf(last, older, old), newest)
    assert.include(sumOf(last, process(4, 1, 90, "other")), 'voicegate_leases{campaign="other"} 4')
  })

  it("is the text of one process when there is one", () => {
    assert.strictEqual(sumMetrics([one]), one)
    assert.strictEqual(sumMetrics([]), "")
  })
})
