/** The settings of a campaign, below `VoiceAiPlatform` and below `VoiceAiPlatform.Campaigns.{name}`. */
import { Schema } from "effect"
import { DEFAULT_PLATFORM, PLATFORMS, vendorFields } from "../../platform-api/vendors.ts"
import { listWithDefault, optional, ownNames, required, withDefault } from "../setting.ts"
import { baseUrl } from "../values/network.ts"
import { platformKey } from "../values/secret.ts"
import { flag, identifier, list, oneOf, wholeNumber } from "../values/values.ts"
import { AccountSettings } from "./account.ts"
import { BudgetItem, BudgetSettings, PriceSettings } from "./budgets.ts"
import { EventsSettings } from "./events.ts"
import { HoursSettings } from "./hours.ts"
import { OverflowSettings } from "./overflow.ts"

/** How a browser connects to the agent; a transport's index in this list is its `transportType` on the wire. */
export const TRANSPORTS = ["websocket", "webrtc"] as const
export type Transport = (typeof TRANSPORTS)[number]

/** The settings that only the default platform has. */
const platformFields = {
  ApiSecretToken: required(platformKey, "<required>", { description: "the platform's API key" }),
  BaseUrl: required(baseUrl, "https://required.example/api/v1", {
    shared: true,
    description: "address of the platform's API, such as `https://platform.example/api/v1`",
    documentation: "The slash at its end is optional",
  }),
  BusinessId: required(identifier, "<required>", { description: "business of the campaign" }),
  WebCampaignId: required(identifier, "<required>", { description: "the web campaign", own: true }),
  DefaultRegionId: required(identifier, "<required>", {
    shared: true,
    description: "region of a request that names none",
  }),
}

/** The settings that the campaigns of every platform have. */
const commonFields = {
  MaxConcurrency: optional(wholeNumber(1, 1_000_000), "from the platform", {
    shared: true,
    own: true,
    description: "slots: how many calls may run at once",
    documentation:
      "When absent, the platform is asked, for which the key needs user management. One instance asks every 10 s for all. A key that may not ask leaves the limit to the platform, whose refusals at capacity then make callers wait. While the platform cannot be reached and the figure is unknown, `/health/ready` says why",
  }),
  AllowedRegionIds: optional(list(identifier), "the default region", {
    shared: true,
    description: "regions that a request may name",
  }),
  AllowedTransportTypes: listWithDefault(list(oneOf(TRANSPORTS)), ["websocket"], "websocket", {
    shared: true,
    description: "transports that a request may name: `websocket` (0), `webrtc` (1)",
    documentation:
      "A request that names none gets the first. List only what your platform supports: each refused start uses one of the key's requests",
  }),
  SilenceSeconds: optional(wholeNumber(10, 3600), "no limit", {
    shared: true,
    description: "how long nobody may speak in a call, as its page hears it; then the call ends",
    documentation:
      "The caller is warned before. See [Silent calls](wire.md#silent-calls), also for pages without the widget and for platforms that the gate cannot ask to end a call",
  }),
  IdentityRequired: optional(flag, "`Identity.Required`", {
    shared: true,
    description: "refuse requests for the campaign without a token that says who calls (401)",
    documentation: "See [Control](control.md#identity)",
  }),
  Hours: HoursSettings.pipe(Schema.annotateKey({ voicegate: { shared: true } })),
  Overflow: OverflowSettings,
  MaxCallSeconds: optional(wholeNumber(20, 86_400), "`Queue.MaxCallMinutes` alone", {
    shared: true,
    description: "the time limit of a call; its page is warned 60 s and 10 s before",
    documentation:
      "At most `Queue.MaxCallMinutes`. It is fixed when a call starts. How it is enforced depends on the [vendor](vendors.md#what-each-vendor-can). See [Call length](control.md#call-length)",
  }),
  VendorEndsAfterMinutes: optional(wholeNumber(1, 1440), "not known", {
    shared: true,
    description:
      "of a vendor whose calls the gate can neither end nor bound: after how long the vendor itself ends a call",
    documentation:
      "Set it to what is configured at the vendor. A call with `MaxCallSeconds` whose page does not end it may run for so long, and its slot is held for so long, at most `Queue.MaxCallMinutes`",
  }),
  Platform: withDefault(oneOf(PLATFORMS), DEFAULT_PLATFORM, {
    description: `who runs the agent: ${PLATFORMS.map((name) => `\`${name}\``).join(", ")}`,
    documentation:
      "A campaign of a vendor has the settings below the vendor's name in place of `ApiSecretToken`, `BaseUrl`, `BusinessId` and `WebCampaignId`, and needs no region. See [Vendors](vendors.md)",
  }),
}

/** The settings of a campaign of the default platform. */
export const PlatformCampaign = Schema.Struct({ ...platformFields, ...commonFields })

/** The settings of a vendor's campaign besides those of the vendor. */
export const VendorCampaign = Schema.Struct({
  ...commonFields,
  DefaultRegionId: Schema.optionalKey(identifier),
})

/** All settings that a campaign may have. */
export const CampaignSettings = Schema.Struct({
  ...platformFields,
  ...commonFields,
  Account: AccountSettings.pipe(Schema.annotateKey({ voicegate: { shared: true } })),
  Events: EventsSettings.pipe(Schema.annotateKey({ voicegate: { shared: true } })),
  Price: PriceSettings.pipe(Schema.annotateKey({ voicegate: { shared: true } })),
  Budget: BudgetSettings.pipe(Schema.annotateKey({ voicegate: { shared: true } })),
  Budgets: Schema.Array(BudgetItem).pipe(
    Schema.optionalKey,
    Schema.annotateKey({
      description: "budgets of minutes and money; a further campaign inherits all of them, or has its own",
      voicegate: { shared: true, defaultText: "none" },
    }),
  ),
  ...vendorFields,
})

/** The names of settings that a further campaign does not inherit from the one below `VoiceAiPlatform`. */
export const NOT_INHERITED: ReadonlyArray<string> = [
  ...ownNames(CampaignSettings.fields),
  ...Object.entries({ Account: AccountSettings, Events: EventsSettings, ...vendorFields }).flatMap(
    ([group, { fields }]) => ownNames(fields).map((name) => `${group}.${name}`),
  ),
]

export const CampaignName = Schema.String.check(
  Schema.isPattern(/^(?!__proto__$)[A-Za-z0-9_-]{1,64}$/u, { expected: "a name of 1 to 64 letters, digits, - and _" }),
)

/** Keyed by the campaign's name, which a request may send as `campaignId`. */
export const FurtherCampaigns = Schema.Record(CampaignName, CampaignSettings).pipe(
  Schema.optionalKey,
  Schema.annotateKey({
    description: `further campaigns, the same settings; all but ${NOT_INHERITED.map((name) => `\`${name}\``).join(", ")} are inherited`,
    voicegate: { fallback: {}, defaultText: "none" },
  }),
)
