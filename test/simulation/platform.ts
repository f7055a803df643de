/**
 * The platform of a history. Each caller's starts are answered by the caller's own script. Sessions run and end here,
 * and their ends are reported to some gate: early, late, twice, or never.
 */

import { Effect, Exit } from "effect"
import { Gatekeeper } from "../../src/gatekeeper/Gatekeeper.ts"
import {
  AtCapacity,
  KeyRateLimited,
  PlatformError,
  RequestRefused,
  refused,
  unavailable,
} from "../../src/platform-api/errors.ts"
import type { WebSession } from "../../src/platform-api/model.ts"
import { PlatformApi } from "../../src/platform-api/PlatformApi.ts"
import type { StartConfig } from "../../src/protocol/request.ts"
import type { Gate } from "./gate.ts"
import { BEGIN } from "./kernel.ts"
import type { Arrive, Outcome, PlatformScript } from "./plan.ts"
import type { World } from "./world.ts"

const STATUS_MILLIS = 200
/** How long the platform takes to end a session (ms). */
export const END_MILLIS = 300
/** How long a credential may open a call. */
const CREDENTIAL_MILLIS = 10_000
/** A platform that ends calls by itself takes no shorter limit (s). */
export const SHORTEST_CALL_SECONDS = 10
const WEBHOOK_TRIES = 4
/** What the platform bills, where it tells. */
const DOLLARS_PER_SECOND = 0.003
const WEBHOOK_RETRY_MILLIS = 3_000

export interface Session {
  readonly ids: readonly [string, string]
  /** when its history begins to name both ids (simulated ms) */
  readonly historyAt: number
  /** the request for which it was started */
  readonly request: string
  /** who has joined it, according to the gate */
  readonly client: string
  over: boolean
  /** how often a gate has asked to end it */
  asked: number
  /** when its call began, and was over (simulated ms); 0 while it is not */
  readonly beganAt: number
  endedAt: number
  /** the call is over: its ends are told */
  finish: () => void
  /** when its credential opens nothing more (simulated ms) */
  readonly expiresAt: number
  /** how often a gate reported that this end freed a slot */
  released: number
  /** when a gate freed a slot by this end (simulated ms) */
  freed: { readonly by: Gate; readonly at: number } | undefined
  /** webhooks of its end in flight, or that a gate could not answer and may still execute */
  readonly telling: Set<Telling>
}

/** The outcomes of a start while nobody can reach the platform. */
const AWAY = { outcome: "unreachable", delay: 20 } as const

/** After these a ticket may start again. */
const AGAIN: ReadonlySet<Outcome> = new Set(["capacity", "limited", "refused", "failed", "unreachable"])

interface Telling {
  readonly gate: Gate
  /** which of the session's webhooks it is */
  readonly n: number
  readonly from: number
  /** whether no other webhook reports this end to the gate meanwhile */
  alone: boolean
}

/** The id of the caller who made a request. */
const callerOf = (request: string): number => Number(request.split(".")[0])

/** The platform's reaction to a start, when it was requested (simulated ms), and by which gate. */
export interface Start {
  readonly script: PlatformScript
  readonly at: number
  readonly by: Gate
}

export class Platform {
  readonly sessions: Array<Session> = []
  private readonly world: World
  private readonly scripts = new Map<number, Arrive["platform"]>()
  /** the callers whose pages have left, where their word is taken */
  private readonly gone = new Set<number>()
  /** webhooks still to be sent */
  pending = 0
  /** of each request, its starts so far */
  private readonly started = new Map<string, ReadonlyArray<Start>>()

  constructor(world: World) {
    this.world = world
    for (const action of world.plan.actions) if (action.kind === "arrive") this.scripts.set(action.id, action.platform)
  }

  /** One start; `answer` is called after the script's delay. */
  initiate(gate: Gate, config: StartConfig, answer: (ids: ReadonlyArray<string> | PlatformError) => void): void {
    const { kernel } = this.world
    const request = config.metadata.request ?? ""
    const before = this.started.get(request) ?? []
    const scripts = this.scripts.get(Number(request.split(".")[0]))
    const planned = scripts?.[before.length] ?? scripts?.at(-1)
    const { outageFrom, outageTo } = this.world.plan
    const millis = this.world.millis()
    const away = outageFrom <= millis && millis < outageTo
    const script = away && planned !== undefined ? { ...planned, ...AWAY } : planned
    if (script === undefined) {
      this.world.fail(`I5: a start for nobody: ${JSON.stringify(config)}`)
      return
    }
    // however a doubt is resolved, its ticket may start again
    const again = this.world.watch.ledger.wasInDoubt(request)
    if (!again && before.some(({ script: { outcome } }) => !AGAIN.has(outcome)))
      this.world.fail(`I5: ${request} was started twice`)
    this.started.set(request, [...before, { script, at: kernel.now, by: gate }])
    this.world.note(`${gate.name} asks the platform for ${request}: ${script.outcome} in ${script.delay} ms`)
    const ids = [`web-${request}-${before.length}`, `conversation-${request}-${before.length}`] as const
    if (script.outcome === "started" || script.outcome === "ghost") this.begin(ids, request, config, script)
    kernel.after(
      script.delay,
      () => {
        switch (script.outcome) {
          case "started":
            return answer(script.names === "both" ? ids : [script.names === "web" ? ids[0] : ids[1]])
          case "capacity":
            return answer(new PlatformError({ reason: new AtCapacity({ message: "full" }) }))
          case "limited": {
            const reason = new KeyRateLimited({ retryAfterMillis: script.retryAfter, message: "too many requests" })
            return answer(new PlatformError({ reason }))
          }
          case "unacceptable": {
            const reason = new RequestRefused({ status: 400, code: "INVALID_REQUEST", message: "not this" })
            return answer(new PlatformError({ reason }))
          }
          case "refused":
            return answer(refused(403, "NO", "no"))
          case "failed":
            return answer(unavailable("server_error", false, "HTTP 503"))
          case "unreachable":
            return answer(unavailable("unreachable", false, "cannot connect"))
          default:
            return answer(unavailable("timeout", true, "no answer"))
        }
      },
      gate.process,
    )
  }

  /** Running sessions. */
  get running(): number {
    return this.sessions.filter((session) => !session.over).length
  }

  /** The starts of a request so far. */
  startsOf(request: string): ReadonlyArray<Start> {
    return this.started.get(request) ?? []
  }

  /** The ids that a session's history returns to a query by this one. */
  history(id: string): ReadonlyArray<string> {
    const session = this.find(id)
    return session !== undefined && session.historyAt <= this.world.kernel.now ? session.ids : [id]
  }

  /** The sessions of a client, by all their ids. */
  sessionsOf(client: string): ReadonlyArray<ReadonlyArray<string>> {
    return this.sessions.filter((session) => session.client === client).map(({ ids }) => ids)
  }

  find(id: string): Session | undefined {
    return this.sessions.find((session) => session.ids.some((each) => each === id))
  }

  /** A reported end freed a slot. */
  freed(told: ReadonlyArray<string>, by: Gate): void {
    const session = told.map((id) => this.find(id)).find((found) => found !== undefined)
    if (session !== undefined) session.freed = { by, at: this.world.kernel.now }
  }

  private begin(ids: Session["ids"], request: string, config: StartConfig, script: PlatformScript): void {
    const { kernel, plan } = this.world
    const client = config.clientIdentifier
    const begins = Math.floor(script.delay / 2)
    const historyAt = kernel.now + begins + script.historyAfter
    const session: Session = {
      ids,
      historyAt,
      request,
      client,
      expiresAt: kernel.now + CREDENTIAL_MILLIS,
      over: this.gone.has(callerOf(request)),
      asked: 0,
      beganAt: kernel.now + begins,
      endedAt: 0,
      finish: () => {},
      released: 0,
      freed: undefined,
      telling: new Set(),
    }
    this.sessions.push(session)
    this.pending++
    let isFinished = false
    session.finish = () => {
      if (isFinished) return
      isFinished = true
      session.over = true
      session.endedAt = kernel.now
      this.world.note(`session ${ids[0]} is over`)
      this.pending--
      this.pending += script.webhooks.length
      if (plan.signals === "page") this.leave(request)
      for (const [n, after] of script.webhooks.entries()) kernel.after(after, () => this.tell(session, n, 0))
    }
    const { callSeconds } = config
    const isBounded = plan.control.vendor?.control === "bounded" && callSeconds !== undefined
    const longest = isBounded ? Math.max(callSeconds, SHORTEST_CALL_SECONDS) * 1000 : Number.POSITIVE_INFINITY
    kernel.after(begins + Math.min(script.talk, longest), session.finish)
  }

  /** When the platform can be reached again after the outage of the plan; 0 if it was never away (ms). */
  get reachableAt(): number {
    const { outageFrom, outageTo } = this.world.plan
    return outageTo === 0 || this.world.millis() < outageFrom ? 0 : BEGIN + outageTo
  }

  /** A gate asks to end a session. */
  end(gate: Gate, ids: ReadonlyArray<string>, answer: (isOver: boolean | PlatformError) => void): void {
    const { kernel, plan, watch } = this.world
    const session = ids.map((id) => this.find(id)).find((found) => found !== undefined)
    watch.ends(gate, ids)
    this.world.note(`${gate.name} asks the platform to end ${ids.join()}`)
    const isAway = this.reachableAt > kernel.now
    const isFirst = session !== undefined && session.asked++ === 0
    const ends = plan.control.vendor?.ends ?? "confirmed"
    kernel.after(
      END_MILLIS,
      () => {
        if (isAway) return answer(unavailable("unreachable", false, "cannot connect"))
        if (isFirst && ends === "silent") return answer(unavailable("timeout", true, "no answer"))
        session?.finish()
        answer(!isFirst || ends === "confirmed")
      },
      gate.process,
    )
  }

  /** A page leaves, and hangs up what it has opened. Afterwards it opens nothing. */
  pageLeft(id: number): void {
    if (this.world.plan.signals !== "page") return
    this.gone.add(id)
    for (const session of this.sessions) if (callerOf(session.request) === id) session.over = true
  }

  /** The page of a call that is over says so. */
  private leave(request: string): void {
    const id = callerOf(request)
    this.world.callers.find(({ plan }) => plan.id === id)?.callEnded()
  }

  /** When the credential of a session opens nothing more (ms since 1970); undefined where the platform itself tells of ends. */
  expiryOf(id: string): number | undefined {
    return this.world.plan.signals === "page" ? (this.find(id)?.expiresAt ?? 0) : undefined
  }

  /** A webhook of the platform, which may say how long the call was; the second one says it more exactly. */
  private report(session: Session, n: number, named: ReadonlyArray<string>) {
    const { reports = "nothing" } = this.world.plan.control.budgets ?? {}
    if (reports === "nothing") return Gatekeeper.use((gatekeeper) => gatekeeper.sessionEnded(named))
    const seconds = Math.max(1, Math.ceil((session.endedAt - session.beganAt) / 1000)) + (n === 1 ? 4 : 0)
    const used = reports === "cost" ? { seconds, dollars: seconds * DOLLARS_PER_SECOND } : { seconds }
    const rawBody = JSON.stringify({ sessions: [named], used })
    return Effect.map(
      Gatekeeper.use((gatekeeper) => gatekeeper.vendorWebhook("vendor", { rawBody, headers: {} })),
      (verdict) => verdict._tag === "accepted" && verdict.released,
    )
  }

  /** A webhook, repeated a few times until a gate has answered it. */
  private tell(session: Session, n: number, tries: number): void {
    const { world } = this
    if (tries === WEBHOOK_TRIES) {
      this.pending--
      return
    }
    const again = (): void => {
      world.kernel.after(WEBHOOK_RETRY_MILLIS, () => this.tell(session, n, tries + 1))
    }
    const key = `webhook ${session.ids[0]} ${n} ${tries}`
    const up = world.gates.filter((gate) => gate?.up === true)
    const gate = up[world.chance(key, Math.max(1, up.length))]
    if (gate === undefined) {
      again()
      return
    }
    const telling: Telling = { gate, n, from: world.kernel.now, alone: true }
    const others = [...session.telling]
    const repeats = others.every((other) => other.gate === gate && other.n === n)
    if (!repeats) for (const other of others) if (other.gate === gate) telling.alone = other.alone = false
    // another webhook may have done what an earlier try was to do
    if (others.some(({ alone }) => !alone)) telling.alone = false
    // what the earlier tries at this gate did, it must say now
    const from = repeats ? (others[0] ?? telling).from : telling.from
    session.telling.add(telling)
    const [web, conversation] = session.ids
    // the same in every try
    const named = [[web], [conversation], [web, conversation]][world.chance(`webhook ${web} ${n} 0 ids`, 3)] ?? [web]
    gate.ask(
      key,
      this.report(session, n, named),
      (exit) => {
        if (Exit.isFailure(exit)) return again()
        this.pending--
        session.telling.delete(telling)
        const held = named.find((id) => world.watch.holds(id))
        if (held !== undefined) world.fail(`I4: ${gate.name} took the end of ${held}, and its slot is held still`)
        // a gate that has ended the call itself may have freed its slot meanwhile
        const isAlone = telling.alone && session.asked === 0
        if (!exit.value && isAlone && session.freed?.by === gate && session.freed.at >= from) {
          world.fail(`I6: a webhook freed the slot of ${web}, and was told that it did not`)
        }
        if (exit.value && ++session.released > 1) world.fail(`I6: two webhooks freed the slot of ${web}`)
      },
      again,
    )
  }
}

/** The platform as one gate reaches it. */
export const makePlatformApi = (world: World, gate: Gate): PlatformApi["Service"] => {
  const control = world.plan.control.vendor?.control ?? "unbounded"
  const shortest = control === "bounded" ? SHORTEST_CALL_SECONDS : undefined
  return PlatformApi.of({
    initiate: (config) =>
      Effect.callback((resume) => {
        world.platform.initiate(gate, config, (answer) =>
          resume(
            answer instanceof PlatformError
              ? Effect.fail(answer)
              : Effect.succeed({ sessionIds: answer, webSocketUrl: `wss://agent.example/${answer[0]}` }),
          ),
        )
        if (!gate.dies("platform")) gate.asked()
      }),
    concurrency: () =>
      Effect.callback((resume) => {
        const answer = { limit: world.slots, inUse: world.platform.running }
        world.kernel.after(STATUS_MILLIS, () => resume(Effect.succeed(answer)), gate.process)
      }),
    sessionStatus: (_campaign, id) =>
      Effect.callback((resume) => {
        const { status } = world.plan
        const truth = world.platform.find(id)?.over === true ? ("over" as const) : ("running" as const)
        const answer =
          status === "fails"
            ? Effect.fail(unavailable("timeout", false, "no answer"))
            : status === "truth"
              ? Effect.succeed({ status: truth, sessionIds: world.platform.history(id) })
              : Effect.succeed({ status: "unknown" as const, sessionIds: [] })
        world.kernel.after(STATUS_MILLIS, () => resume(answer), gate.process)
      }),
    sessionsOf: (_campaign, client) =>
      Effect.callback((resume) => {
        const { status } = world.plan
        const answer =
          status === "fails"
            ? Effect.fail(unavailable("timeout", false, "no answer"))
            : Effect.succeed(status === "truth" ? world.platform.sessionsOf(client) : undefined)
        world.kernel.after(STATUS_MILLIS, () => resume(answer), gate.process)
      }),
    webhook: (_platform, { rawBody }) => Effect.sync(() => ({ _tag: "ended", ...JSON.parse(rawBody) }) as const),
    ...(world.plan.control.vendor === undefined
      ? {}
      : { lengthControl: () => control, shortestCallSeconds: () => shortest }),
    ...(control !== "endable"
      ? {}
      : {
          end: (_campaign: string, { sessionIds }: WebSession) =>
            Effect.callback<boolean, PlatformError>((resume) =>
              world.platform.end(gate, sessionIds, (answer) =>
                resume(answer instanceof PlatformError ? Effect.fail(answer) : Effect.succeed(answer)),
              ),
            ),
        }),
    pageEnds: (_campaign, { sessionIds: [id = ""] }) => Effect.sync(() => world.platform.expiryOf(id)),
    verify: () => Effect.succeed([]),
  })
}
