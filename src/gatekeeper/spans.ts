/** Spans of the checks of a request. */
import type { Effect } from "effect"
import type { Traced } from "../lib/spans.ts"
import type { Campaign } from "../settings/Settings.ts"
import type { AdmissionSteps, NewTicket } from "./checks/admit.ts"
import type { Validated } from "./checks/validate.ts"

/** The checks in their order, each in its span. */
export const traceChecks = <E, F>(
  traced: Traced,
  {
    admission,
    checkAddress,
    validate,
  }: {
    readonly validate: (body: unknown) => Effect.Effect<Validated, E>
    readonly checkAddress: (address: string, campaign: Campaign) => Effect.Effect<void, F>
    readonly admission: AdmissionSteps
  },
) => {
  const ofCampaign = ({ campaign }: NewTicket) => ({ attributes: { "voicegate.campaign": campaign.name } })
  return {
    validate: traced("Gatekeeper.validate", validate, () => ({
      result: ({ campaign }) => ({ "voicegate.campaign": campaign.name }),
    })),
    checkAddress: traced("Gatekeeper.checkAddress", checkAddress),
    admit: traced("Gatekeeper.admit", admission.admit, ofCampaign),
    start: traced("Gatekeeper.startSession", admission.start, ofCampaign),
  }
}
