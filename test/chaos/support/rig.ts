/**
 * The setup of every scenario: a platform, gates on a store, callers, and an observer of the store. All decisions come
 * from one seed; the timing of real processes does not.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"
import { Chance } from "../../harness/chance.ts"
import { type Bench, type Environment, settingsFor } from "../../harness/gate.ts"
import { type Caller, makeCaller, runCaller, type StartsOver } from "./caller.ts"
import { type ChaosPlatform, startChaosPlatform } from "./platform.ts"
import { makeSeat, postWebhook, type Seat } from "./seats.ts"
import { type StoreView, type StoreWatch, viewStore, watchStore } from "./store.ts"

export interface RigOptions {
  readonly seed: number
  readonly bench: Bench
  /** the store's address for the gates */
  readonly storeUrl: string
  /** the store's address for the rig, if a proxy stands in front of the gates' */
  readonly viewUrl?: string
  readonly gates: number
  readonly slots: number
  /** the campaign (`WebCampaignId`) that callers request and that is observed; the default one when absent */
  readonly campaign?: string
  readonly settings?: Environment
  /** settings of one gate only */
  readonly settingsOf?: (gate: number) => Environment
  /** puts something between the gates and the platform; returns the port to use */
  readonly platformPort?: (port: number) => Promise<number>
  /** puts something in front of a gate; returns the address to use */
  readonly entrance?: (port: number) => Promise<string>
  /** the gates that receive the platform's webhooks, in turn; all by default */
  readonly webhookGates?: ReadonlyArray<number>
  /** how the platform reports an end; to one of these gates each time when absent */
  readonly webhook?: (sessionId: string, seats: ReadonlyArray<Seat>) => ReturnType<typeof postWebhook>
  readonly platformLimit?: number
  readonly joinMillis?: number
  readonly startMillis?: number
  readonly lookEveryMillis?: number
  /** who tells the gates that a call is over: the platform's webhook, the page alone, or nobody; the webhook when absent */
  readonly ends?: "webhook" | "page" | "none"
  /** tickets may be called again: the store may lose data, or the platform be at capacity */
  readonly calledAnew?: boolean
}

export interface CrowdOptions {
  readonly callers: number
  /** they arrive within this time, evenly */
  readonly arriveMillis: number
  /** the shortest and the longest call */
  readonly talkMillis: readonly [number, number]
  /** the longest reaction to a start call */
  readonly reactMillis?: number
  /** from which address the first, the second, … requests; each from its own by default */
  readonly addressOf?: (index: number) => string
  /** how callers start their calls, in turn; all by a request by default */
  readonly startsOver?: ReadonlyArray<StartsOver>
  /** of so many callers one takes what it is offered; none by default */
  readonly takesOffers?: number
  /** the gates that callers use; all by default */
  readonly entrances?: () => ReadonlyArray<string>
}

export interface Crowd {
  readonly callers: ReadonlyArray<Caller>
  /** resolves when all have an outcome; those without one by then are stopped */
  readonly done: (withinMillis: number) => Promise<void>
  /** how many have a ticket or an outcome */
  readonly answered: () => number
}

/** The settings of a vendor whose pages open calls with a token, and that tells nobody of an end. */
const untoldBy = (settings: Environment, port: number): Environment => {
  const others = Object.entries(settings).filter(([name]) => !/^VoiceAiPlatform__(?!MaxConcurrency)/.test(name))
  return {
    ...Object.fromEntries(others),
    VoiceAiPlatform__Platform: "assemblyai",
    VoiceAiPlatform__AssemblyAI__ApiKey: "key-of-the-chaos-platform",
    VoiceAiPlatform__AssemblyAI__AgentId: "campaign-1",
    VoiceAiPlatform__AssemblyAI__BaseUrl: `http://127.0.0.1:${port}/`,
  }
}

export interface Rig {
  readonly options: RigOptions
  readonly chance: Chance
  readonly platform: ChaosPlatform
  readonly seats: ReadonlyArray<Seat>
  readonly view: StoreView
  readonly watch: StoreWatch
  /** violations that callers saw */
  readonly wrongs: Set<string>
  /** the longest time for which this process itself was stalled (ms): callers and platform were away for as long */
  readonly stalled: () => number
  readonly crowds: ReadonlyArray<Crowd>
  readonly crowd: (options: CrowdOptions) => Crowd
}

export const makeRig = async (options: RigOptions): Promise<Rig> => {
  const { bench, campaign, ends = "webhook", gates, seed, slots, storeUrl } = options
  const chance = new Chance(seed)
  const seats: Array<Seat> = []
  const webhookGates = options.webhookGates ?? Array.from({ length: gates }, (_, gate) => gate)
  let next = 0
  const webhookUrl = (): string => seats[webhookGates[next++ % webhookGates.length] ?? 0]?.url ?? ""
  const webhook = options.webhook ?? ((id: string) => postWebhook(webhookUrl(), id))
  const platform = bench.own(
    await startChaosPlatform({
      chance: new Chance(seed + 1),
      webhook: (id) => webhook(id, seats),
      silent: ends !== "webhook",
      ...(options.platformLimit === undefined ? {} : { limit: options.platformLimit }),
      ...(options.joinMillis === undefined ? {} : { joinMillis: options.joinMillis }),
      ...(options.startMillis === undefined ? {} : { startMillis: options.startMillis }),
    }),
  )
  const port = (await options.platformPort?.(platform.port)) ?? platform.port
  const given = settingsFor(
    { baseUrl: `http://127.0.0.1:${port}/api/v1` },
    {
      StoreConnectionString: storeUrl,
      VoiceAiPlatform__MaxConcurrency: String(slots),
      Security__TrustedProxies__0: "loopback",
      Queue__StartWindowSeconds: "10",
      Queue__DisconnectGraceSeconds: "10",
      Queue__MaxCallMinutes: "1",
      ...options.settings,
    },
  )
  const settings = ends === "webhook" ? given : untoldBy(given, port)
  for (let i = 0; i < gates; i++) {
    seats.push(await makeSeat(bench, { ...settings, ...options.settingsOf?.(i) }, options.entrance))
  }
  // all or none: a gate that starts after a failure would belong to nobody
  for (const seat of seats) await seat.start()
  await Promise.all(seats.map((seat) => seat.ready()))
  const view = bench.own(
    viewStore(options.viewUrl ?? storeUrl, campaign, ends === "webhook" ? undefined : "assemblyai"),
  )
  const watch = bench.own(watchStore(view, slots, options.lookEveryMillis, options.calledAnew !== true))
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  bench.own({
    dispose: async () => {
      delay.disable()
    },
  })
  const wrongs = new Set<string>()
  const crowds: Array<Crowd> = []
  let names = 0

  const crowd: Rig["crowd"] = (options) => {
    const {
      addressOf,
      arriveMillis,
      callers: count,
      entrances,
      reactMillis = 300,
      startsOver = [],
      takesOffers,
      talkMillis,
    } = options
    const callers: Array<Caller> = []
    let stopped = false
    const lives = Array.from({ length: count }, async (_, i) => {
      const name = ++names
      const caller = makeCaller(name)
      callers.push(caller)
      const its = new Chance(seed * 100_003 + name)
      const [least, most] = talkMillis
      await sleep((arriveMillis * i) / count)
      await runCaller(caller, {
        name,
        address: addressOf?.(i),
        chance: its,
        campaignId: campaign,
        entrances: entrances ?? (() => seats.map((seat) => seat.url)),
        talk: platform.talk,
        talkMillis: its.between(least, most),
        reactMillis: its.below(reactMillis + 1),
        reports: ends === "page",
        takesOffers: takesOffers !== undefined && i % takesOffers === takesOffers - 1,
        startsOver: startsOver[i % startsOver.length] ?? "http",
        stopped: () => stopped,
        wrong: (what) => wrongs.add(what),
      })
    })
    // a caller that fails is a fault of the test, or two callers with one session: it is reported where it is awaited
    const all = Promise.all(lives)
    all.catch(() => {})
    const crowd: Crowd = {
      callers,
      answered: () => callers.filter((c) => c.ticket !== undefined || c.outcome !== undefined).length,
      done: async (withinMillis) => {
        const timer = new AbortController()
        const late = sleep(withinMillis, "late" as const, { signal: timer.signal }).catch(() => "late" as const)
        const first = await Promise.race([all.then(() => "done" as const), late])
        timer.abort()
        if (first === "done") return
        const stuck = callers.filter((c) => c.outcome === undefined)
        wrongs.add(`I3: ${stuck.length} callers had no outcome after ${withinMillis / 1000} s`)
        stopped = true
        await all
      },
    }
    crowds.push(crowd)
    // a scenario that fails leaves no caller behind that retries forever
    bench.own({
      dispose: async () => {
        stopped = true
      },
    })
    return crowd
  }
  return { options, chance, platform, seats, view, watch, wrongs, stalled: () => delay.max / 1e6, crowds, crowd }
}
