/**
 * Reports what works, what fails and what was not checked: the settings, the store, the platform with its key, campaign, regions
 * and slots, the IP provider, the webhook's credentials. As text, or with `--json` as one JSON document.
 */
import { Clock, Console, Effect, type FileSystem, Layer, Logger, Result } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { IpIntel } from "../../ip-intel/IpIntel.ts"
import { clientAddress, trustedProxies } from "../../lib/ip/client-address.ts"
import { settingPath } from "../../platform-api/faults.ts"
import * as PlatformApiLayer from "../../platform-api/layer.ts"
import { PlatformApi } from "../../platform-api/PlatformApi.ts"
import { hasDefaultPlatform } from "../../platform-api/vendors.ts"
import { loadSettings, type SettingsSource } from "../../settings/load.ts"
import type { SettingProblem } from "../../settings/problems.ts"
import { type Campaign, Settings, type SettingsTree } from "../../settings/Settings.ts"
import * as StoreLayer from "../../store/layer.ts"
import * as memory from "../../store/memory/layer.ts"
import { controlFindings, smallCaps } from "./control.ts"
import { checkEvents } from "./events.ts"
import { hoursText, isEverOpen } from "./hours.ts"
import { checkLive } from "./live.ts"
import { checkStore } from "./store.ts"

/** One check, as `--json` shows it. */
interface Finding {
  /**
   * settings, store, hours, call length, price, budget, overflow, platform, web campaign, region, credential, slots, live, addresses,
   * identity, events, callers, webhook
   */
  readonly name: string
  /** for checks of a campaign: its name in the settings */
  readonly campaign?: string
  readonly status: "ok" | "failed" | "not_checked"
  readonly message: string
  /** for `settings`: every problem */
  readonly problems?: ReadonlyArray<SettingProblem>
}

interface Report {
  /** no check failed; some may not have been made */
  readonly ok: boolean
  readonly checks: ReadonlyArray<Finding>
  /** warnings about valid settings */
  readonly warnings: ReadonlyArray<string>
}

const slotsOf = (campaign: Campaign): Effect.Effect<Finding, never, PlatformApi> => {
  const finding = (status: Finding["status"], message: string): Finding => ({
    name: "slots",
    campaign: campaign.name,
    status,
    message,
  })
  const { Account } = campaign
  if (Account?.MaxConcurrency !== undefined) {
    const own = campaign.MaxConcurrency === undefined ? "" : `, at most ${campaign.MaxConcurrency} of this campaign`
    const detail =
      `${Account.MaxConcurrency} of the account ${Account.Name}${own}, ${Account.ReservedSlots} reserved for it; ` +
      "whether the account has that many is not checked"
    return Effect.succeed(finding("ok", detail))
  }
  const most = campaign.MaxConcurrency
  if (most !== undefined && Account === undefined) {
    const stated = `${most} (MaxConcurrency)`
    return PlatformApi.use((platform) =>
      Effect.match(platform.concurrency(campaign.name), {
        onFailure: () => finding("ok", `${stated}; whether the account has that many is not checked`),
        onSuccess: ({ fromStarts, inUse, limit }) =>
          fromStarts === true
            ? finding("ok", `${stated}; whether the account has that many is not checked`)
            : limit < most
              ? finding(
                  "failed",
                  `${settingPath(campaign.name, "MaxConcurrency")}: It is ${most}, and the account has ${limit} for such calls, of which ${inUse} are in use`,
                )
              : finding(
                  "ok",
                  Number.isFinite(limit)
                    ? `${stated} of the account's ${limit}, ${inUse} in use`
                    : `${stated}; ${inUse} calls run, and the platform tells no limit`,
                ),
      }),
    )
  }
  return PlatformApi.use((platform) =>
    Effect.match(platform.concurrency(campaign.name), {
      onFailure: ({ message, reason }) => {
        const told = message.replace(/[.!]?$/, ".")
        if (reason._tag !== "Refused") return finding("failed", `the platform could not be asked: ${told}`)
        const setting = settingPath(campaign.name, `${Account === undefined ? "" : "Account."}MaxConcurrency`)
        return finding(
          "not_checked",
          `${told} The platform's own refusal at capacity is the limit. For a known number, set ${setting}, or use a key with ` +
            "user management.",
        )
      },
      onSuccess: ({ fromStarts, inUse, limit }) =>
        fromStarts === true
          ? finding(
              "not_checked",
              "the platform tells the limit in its answers to starts; until the first call, the gate starts calls until the platform refuses one",
            )
          : Number.isFinite(limit)
            ? finding("ok", `${limit} from the platform, ${inUse} in use`)
            : finding("ok", `no limit of the platform, ${inUse} in use; its own refusal at capacity is the limit`),
    }),
  )
}

const checkCampaign = (campaign: Campaign): Effect.Effect<ReadonlyArray<Finding>, never, PlatformApi> =>
  Effect.gen(function* () {
    const platform = yield* PlatformApi
    const findings = yield* platform.verify(campaign.name)
    return [
      ...findings.map(({ detail, state, subject }) => ({
        name: subject,
        campaign: campaign.name,
        status: state,
        message: detail,
      })),
      yield* slotsOf(campaign),
    ]
  })

const checkStart = (campaign: Campaign, tree: SettingsTree) =>
  Effect.map(checkLive(campaign, tree), (findings) =>
    findings.map(({ message, status }): Finding => ({ name: "live", campaign: campaign.name, status, message })),
  )

const checkIp = ({ IpIntel: { Provider } }: SettingsTree): Effect.Effect<Finding, never, IpIntel> =>
  Provider === "none"
    ? Effect.succeed({
        name: "addresses",
        status: "not_checked",
        message: "IpIntel.Provider is none, so no caller's address is looked up",
      })
    : IpIntel.use((intel) =>
        Effect.match(intel.probe, {
          onFailure: ({ message }) => ({ name: "addresses", status: "failed" as const, message }),
          onSuccess: () => ({ name: "addresses", status: "ok" as const, message: `${Provider} answers` }),
        }),
      )

const identityFinding = (status: Finding["status"], message: string): Finding => ({ name: "identity", status, message })

/** By what tokens can be checked that say who calls; nothing where none are read. */
const checkIdentity = ({
  Identity: { JwksUrl, Secrets },
}: SettingsTree): Effect.Effect<ReadonlyArray<Finding>, never, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    // the settings refuse shorter ones
    const secrets =
      Secrets.length === 0
        ? []
        : [identityFinding("ok", `${Secrets.length} of Identity.Secrets, each of at least 32 bytes (HS256)`)]
    if (JwksUrl === undefined) return secrets
    const [jose, { fetchKeys }] = yield* Effect.promise(() =>
      Promise.all([import("jose"), import("../../identity-tokens/jwks.ts")]),
    )
    const published = yield* Effect.match(fetchKeys(jose, yield* HttpClient.HttpClient, JwksUrl), {
      onFailure: (problem) => identityFinding("failed", `Identity.JwksUrl ${problem}`),
      onSuccess: (keys) => {
        const algorithms = [...new Set(keys.map(({ alg }) => alg))].join(", ")
        return identityFinding("ok", `Identity.JwksUrl has ${keys.length} usable keys (${algorithms})`)
      },
    })
    return [...secrets, published]
  })

const webhookFinding = ({ Security, ...tree }: SettingsTree): Finding => {
  const proofs = [
    ...(Security.WebhookApiToken.length > 0 ? ["the header X-Api-Token with a token of Security.WebhookApiToken"] : []),
    ...(Security.WebhookSigningSecret.length > 0
      ? ["a Standard Webhooks signature by a secret of Security.WebhookSigningSecret"]
      : []),
  ]
  if (proofs.length === 0 && !hasDefaultPlatform(tree)) {
    const vendors = [...new Set(tree.Campaigns.map(({ Platform }) => Platform))]
    const paths = vendors.map((each) => `/api/webhook/${each}`).join(", ")
    const message =
      "whether your vendor's webhook arrives here, with the vendor's signature. Make a call and end it: the log then has a line with a path " +
      `(${paths}) and the outcome released. A vendor without webhooks needs none`
    return { name: "webhook", status: "not_checked", message }
  }
  const accepted =
    proofs.length > 0
      ? `needs ${proofs.join(", or ")}`
      : Security.LocalWebhooks
        ? "is accepted from this machine only"
        : "is refused, because neither Security.WebhookApiToken nor Security.WebhookSigningSecret is set"
  return {
    name: "webhook",
    status: "not_checked",
    message: `whether the platform's webhook arrives here; it ${accepted}`,
  }
}

const SEEN = "198.51.100.7"

/** Whose address a caller has: the answer to "why do all callers share one limit". */
const callersFinding = ({ Security: { ClientAddressHeader, TrustedProxies } }: SettingsTree): Finding => {
  const [first] = TrustedProxies
  const finding = (message: string): Finding => ({ name: "callers", status: "ok", message })
  if (first === undefined) {
    return finding(
      "a caller's address is that of the connection, and no header is read. Behind a proxy or a CDN this is the proxy's address, so all " +
        "callers share one limit: name the proxy in Security.TrustedProxies",
    )
  }
  const proxy = first.split("/", 1)[0] ?? ""
  const value = ClientAddressHeader === "forwarded" ? `for=${SEEN}` : SEEN
  const seen = clientAddress({
    socketAddress: proxy,
    header: ClientAddressHeader,
    value,
    trusted: trustedProxies(TrustedProxies),
  })
  return finding(
    `your proxies are the addresses in ${TrustedProxies.join(", ")} (Security.TrustedProxies). When one of them sends the header ` +
      `"${ClientAddressHeader}: ${value}", the caller's address is ${seen}. From all other addresses the header is ignored, and the ` +
      "caller's address is that of the connection",
  )
}

/** What the hours of each campaign say now, in its own zone. */
const hoursFindings = ({ Campaigns }: SettingsTree, now: number): ReadonlyArray<Finding> =>
  Campaigns.flatMap(
    ({ Hours, name }): ReadonlyArray<Finding> =>
      Hours === undefined ? [] : [{ name: "hours", campaign: name, status: "ok", message: hoursText(Hours, now) }],
  )

const neverOpen = ({ Campaigns }: SettingsTree, now: number): ReadonlyArray<string> =>
  Campaigns.flatMap(({ Hours, name }) =>
    Hours === undefined || isEverOpen(Hours, now)
      ? []
      : [
          `${settingPath(name, "Hours")}: the campaign does not open within a year, so every caller is told that it is closed.`,
        ],
  )

const examine = (source: SettingsSource, live: boolean): Effect.Effect<Report, never, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const loaded = yield* Effect.result(loadSettings(source))
    if (Result.isFailure(loaded)) {
      const { message, problems } = loaded.failure
      return { ok: false, checks: [{ name: "settings", status: "failed", message, problems }], warnings: [] }
    }
    const { tree, warnings } = loaded.success
    const settings = Layer.succeed(Settings, tree)
    const checks: ReadonlyArray<Effect.Effect<ReadonlyArray<Finding>>> = [
      Effect.map(checkStore(tree, StoreLayer.layer.pipe(Layer.provide(settings))), (finding) => [finding]),
      Effect.provide(
        Effect.map(
          Effect.forEach(tree.Campaigns, (campaign) =>
            Effect.all([checkCampaign(campaign), live ? checkStart(campaign, tree) : Effect.succeed([])]),
          ),
          (findings) => findings.flat(2),
        ),
        PlatformApiLayer.layer.pipe(Layer.provide([settings, FetchHttpClient.layer])),
      ),
      // the probe does not use the cache, so it needs no shared store
      checkIp(tree).pipe(
        Effect.provide(IpIntel.layer.pipe(Layer.provide([settings, memory.layer, FetchHttpClient.layer]))),
        Effect.catch(({ message }) => Effect.succeed<Finding>({ name: "addresses", status: "failed", message })),
        Effect.map((finding) => [finding]),
      ),
      Effect.provide(checkIdentity(tree), FetchHttpClient.layer),
      Effect.provide(checkEvents(tree), FetchHttpClient.layer),
    ]
    const found = (yield* Effect.all(checks, { concurrency: "unbounded" })).flat()
    const campaigns = tree.Campaigns.length === 1 ? "1 campaign" : `${tree.Campaigns.length} campaigns`
    const valid: Finding = { name: "settings", status: "ok", message: `valid, with ${campaigns}` }
    const now = yield* Clock.currentTimeMillis
    const all = [
      valid,
      ...hoursFindings(tree, now),
      ...tree.Campaigns.flatMap((campaign) => controlFindings(campaign, now)),
      ...found,
      callersFinding(tree),
      webhookFinding(tree),
    ]
    return {
      ok: all.every(({ status }) => status !== "failed"),
      checks: all,
      warnings: [...warnings, ...neverOpen(tree, now), ...tree.Campaigns.flatMap(smallCaps)],
    }
  })

const lineOf = ({ campaign, message, name, problems, status }: Finding): string => {
  // the message already lists the problems, one per line
  if (problems !== undefined) return message
  const what = campaign === undefined ? name : `${name}, campaign ${campaign}`
  switch (status) {
    case "ok":
      return `ok    ${what}: ${message}`
    case "failed":
      return `FAIL  ${what}: ${message}`
    case "not_checked":
      return `?     ${what}: not checked: ${message}`
  }
}

const asText = ({ checks, warnings }: Report): string => {
  const [settings, ...others] = checks.map(lineOf)
  return [settings, ...warnings.map((warning) => `note  ${warning}`), ...others].join("\n")
}

/**
 * Runs all checks, writes the findings to standard output, and returns whether none failed. The log is suppressed, since the
 * findings contain the same information.
 */
export const check = (
  source: SettingsSource,
  options: {
    readonly json: boolean
    /** starts a call of each campaign, and ends it (`live.ts`) */
    readonly live: boolean
  },
): Effect.Effect<boolean, never, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const report = yield* Effect.provide(examine(source, options.live), Logger.layer([]))
    yield* Console.log(options.json ? JSON.stringify(report, null, 2) : asText(report))
    return report.ok
  })
