/** What the gate says of a visitor who would come now. */
import { gateUrl, type VoiceAgentOptions } from "../client/options.ts"
import { type Fields, parse } from "./json.ts"

/** The fields of the answer; none if the gate is away, or older than this widget. */
export const availabilityOf = (options: VoiceAgentOptions): Promise<Fields> =>
  fetch(gateUrl(options, `api/availability?campaignId=${encodeURIComponent(options.campaign ?? "")}`))
    .then((answer) => answer.text())
    .then(parse, () => ({}))
