/**
 * Starts one call of a campaign with its real key, as a caller's request would, and ends it. This shows what no fake can: that the
 * vendor accepts the gate's requests, and that the gate understands the answers. Nobody joins the call. The queue does not know of the
 * call, so for a moment it may take a slot of the account from a caller.
 */

import { randomBytes } from "node:crypto"
import { Clock, Effect, Schedule } from "effect"
import type { PlatformError } from "../../platform-api/errors.ts"
import type { WebSession } from "../../platform-api/model.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import type { StartConfig } from "../../protocol/request.ts"
import type { Campaign, SettingsTree } from "../../settings/Settings.ts"

export interface LiveFinding {
  readonly status: "ok" | "failed" | "not_checked"
  readonly message: string
}

/** The delay before the vendor is asked again for what it may not know at once (ms), and how many times it is asked again. */
const ASK_AGAIN_MILLIS = 1_000
const ASK_AGAIN_TIMES = 10

const ok = (message: string): LiveFinding => ({ status: "ok", message })
const failed = (message: string): LiveFinding => ({ status: "failed", message })
const notChecked = (message: string): LiveFinding => ({ status: "not_checked", message })

const finding = <A>(
  asked: Effect.Effect<A, PlatformError>,
  what: string,
  read: (answer: A) => LiveFinding,
): Effect.Effect<LiveFinding> =>
  Effect.match(asked, { onFailure: ({ message }) => failed(`${what}: ${message}`), onSuccess: read })

/** At most `ASK_AGAIN_TIMES` times. */
const until = <A, E>(asked: Effect.Effect<A, E>, isWanted: (answer: A) => boolean): Effect.Effect<A, E> =>
  Effect.repeat(asked, {
    until: isWanted,
    schedule: Schedule.spaced(ASK_AGAIN_MILLIS),
    times: ASK_AGAIN_TIMES,
  })

const describe = ({ credential, offerMillis, webSocketUrl }: WebSession, now: number, window: number): LiveFinding => {
  if (credential === undefined) {
    return webSocketUrl ? ok("the start gave a WebSocket URL") : failed("the start gave neither a URL nor a credential")
  }
  const { expiresAt, shape } = credential
  if (offerMillis !== undefined) return ok(`the gate made a credential of the shape ${shape}`)
  if (expiresAt === undefined)
    return ok(`the start gave a credential of the shape ${shape}, without the time of its end`)
  const seconds = Math.round((Date.parse(expiresAt) - now) / 1000)
  const bound = seconds > window ? `, longer than the start window of ${window} s` : ""
  return ok(`the start gave a credential of the shape ${shape}, valid for ${seconds} s${bound}`)
}

const startOf = (campaign: Campaign): StartConfig => {
  const id = `voicegate-check-${randomBytes(9).toString("hex")}`
  return {
    campaign: campaign.name,
    regionId: campaign.DefaultRegionId,
    transportType: campaign.AllowedTransportTypes[0] === "webrtc" ? 1 : 0,
    clientIdentifier: id,
    correlationId: id,
    dynamicVariables: {},
    metadata: {},
    audio: {},
  }
}

/** Checks the platform's list, the state and the end of a started call. */
const examineCall = Effect.fnUntraced(function* (
  campaign: Campaign,
  config: StartConfig,
  session: WebSession,
  at: number,
) {
  const platform = yield* PlatformApi
  const [id = ""] = session.sessionIds
  const isOurs = (ids: ReadonlyArray<string>): boolean => ids.some((each) => session.sessionIds.includes(each))
  const listed = yield* finding(
    until(
      platform.sessionsOf(campaign.name, config.clientIdentifier, at),
      (sessions) => sessions === undefined || sessions.some(isOurs),
    ),
    "the list of calls",
    (sessions) => {
      if (sessions === undefined)
        return notChecked("the platform has no usable list: an unconfirmed start is not looked for")
      return sessions.some(isOurs)
        ? ok("the list has the call")
        : failed("the list does not have the call that was started")
    },
  )
  const state = yield* finding(platform.sessionStatus(campaign.name, id), "the state of the call", ({ status }) =>
    status === "unknown"
      ? notChecked("the platform does not tell whether a call that nobody joined runs")
      : ok(`the call is ${status}`),
  )
  const ended = yield* finding(
    until(
      platform.end?.(campaign.name, session) ?? Effect.succeed("unsupported" as const),
      (answer) => answer !== false,
    ),
    "the end of the call",
    (answer) =>
      answer === true
        ? ok("the gate has ended the call")
        : notChecked("the gate cannot end the call, or the platform did not confirm it: it ends at the platform alone"),
  )
  return [listed, state, ended]
})

/** Looks for a call whose start was not confirmed, and ends it. Returns what became of it, as a sentence. */
const endUnconfirmed = Effect.fnUntraced(function* (campaign: Campaign, config: StartConfig, at: number) {
  const platform = yield* PlatformApi
  const sessions = yield* platform
    .sessionsOf(campaign.name, config.clientIdentifier, at)
    .pipe(Effect.orElseSucceed(() => undefined))
  if (sessions?.length === 0) return " The platform has no such call."
  const ends = yield* Effect.forEach(sessions ?? [], (sessionIds) =>
    Effect.orElseSucceed(platform.end?.(campaign.name, { sessionIds }) ?? Effect.succeed(false), () => false),
  )
  return ends.length > 0 && ends.every((isOver) => isOver === true)
    ? " It had started, and was ended."
    : " It may have started: look for it at the platform."
})

/** The call is ended whatever is found. */
export const checkLive = (
  campaign: Campaign,
  { Queue: { StartWindowSeconds } }: SettingsTree,
): Effect.Effect<ReadonlyArray<LiveFinding>, never, PlatformApi> =>
  Effect.gen(function* () {
    const platform = yield* PlatformApi
    const config = startOf(campaign)
    const at = yield* Clock.currentTimeMillis
    const capacity = yield* Effect.match(platform.concurrency(campaign.name), {
      onFailure: ({ message }) => notChecked(`how many calls run: ${message}`),
      onSuccess: ({ inUse, limit }) =>
        ok(
          Number.isFinite(limit)
            ? `${inUse} of ${limit} calls run`
            : `${inUse} calls run, and the platform tells no limit`,
        ),
    })
    const started = yield* Effect.result(platform.initiate(config, "check"))
    if (started._tag === "Failure") {
      const { message, reason } = started.failure
      const mayRun = reason._tag === "Unavailable" && reason.mayHaveHappened
      const more = mayRun ? yield* endUnconfirmed(campaign, config, at) : ""
      return [capacity, failed(`the start: ${message.replace(/[.!]?$/, ".")}${more}`)]
    }
    const given = describe(started.success, at, StartWindowSeconds)
    // the session's call begins only with a page's offer
    if (started.success.offerMillis !== undefined) {
      return [capacity, given, notChecked("a call: it begins with the SDP offer of a page")]
    }
    return [capacity, given, ...(yield* examineCall(campaign, config, started.success, at))]
  }).pipe(Effect.uninterruptible)
