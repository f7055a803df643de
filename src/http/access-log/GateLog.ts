/** The access log as the gate writes it: callers by their names, as in the store, and with the campaign of each ticket. */
import { Context, Effect, Layer } from "effect"
import { CallerNames } from "../../caller-names/CallerNames.ts"
import { subjectIn } from "../../caller-names/rules/subject-name.ts"
import { makeCampaigns } from "../../gatekeeper/Campaigns.ts"
import { currentSettings, derived } from "../../settings/current.ts"
import type { Settings } from "../../settings/Settings.ts"
import { AccessLog, type AccessLogService } from "./access-log.ts"

export class GateLog extends Context.Service<GateLog, AccessLogService>()("voicegate/http/GateLog") {}

/** The subject as the console shows it. */
const shownSubject = (names: CallerNames["Service"], subject: string): string => subjectIn(names.subject(subject)) ?? ""

const withNames = (log: AccessLogService, names: CallerNames["Service"]): AccessLogService => ({
  now: log.now,
  write: (entry) => {
    // hot path: most callers have no subject, and plain addresses are as they are
    if (names.ready === undefined && entry.subject === undefined) return log.write(entry)
    const { address, subject } = entry
    log.write({
      ...entry,
      address: names.shown(address),
      subject: subject === undefined ? undefined : shownSubject(names, subject),
    })
  },
})

const withCampaigns = (
  log: AccessLogService,
  campaignOf: (ticket: string) => string | undefined,
): AccessLogService => ({
  now: log.now,
  write: (entry) =>
    log.write(
      entry.ticket === undefined || entry.campaign !== undefined
        ? entry
        : { ...entry, campaign: campaignOf(entry.ticket) },
    ),
})

export const layer: Layer.Layer<GateLog, never, CallerNames | Settings> = Layer.effect(
  GateLog,
  Effect.gen(function* () {
    const campaigns = derived(yield* currentSettings, makeCampaigns)
    const named = withNames(yield* AccessLog, yield* CallerNames)
    return GateLog.of(withCampaigns(named, (ticket) => campaigns().ofTicket(ticket)?.name))
  }),
)
