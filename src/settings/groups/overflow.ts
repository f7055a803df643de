/** What callers are offered who would wait long, below `Overflow` of a campaign. */
import { Schema } from "effect"
import type { Offer } from "../../protocol/offers.ts"
import type { Reader } from "../reading/reader.ts"
import { listWithDefault, withDefault } from "../setting.ts"
import { list, type Text, wholeNumber } from "../values/values.ts"

const MAX_LABEL = 80
const EXPECTED =
  "a label and where it leads: Call the shop tel:+49301234567, Write to us https://shop.example/contact, or Talk to sales campaign:sales; one a list item"

const targetOf = (text: string): Pick<Offer, "kind" | "target"> | string => {
  if (/^tel:/i.test(text)) {
    const number = text.slice(4).replace(/[-.()]/g, "")
    return /^\+?\d{3,20}$/.test(number)
      ? { kind: "number", target: `tel:${number}` }
      : "tel: and a telephone number without spaces, such as tel:+49301234567"
  }
  if (/^campaign:/i.test(text)) {
    const target = text.slice("campaign:".length)
    return /^[A-Za-z0-9_-]{1,64}$/.test(target)
      ? { kind: "campaign", target }
      : "campaign: and the name of a campaign, such as campaign:sales"
  }
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) return EXPECTED
  const url = URL.parse(text)
  return url?.protocol === "https:" && url.username === "" && url.password === ""
    ? { kind: "link", target: url.href }
    : "an address that begins with https:// and has no user"
}

/** What an item means, or what was expected instead of it. */
const readOffer = (text: string): Offer | string => {
  const words = text.trim().split(/\s+/)
  const target = targetOf(words.at(-1) ?? "")
  if (typeof target === "string") return target
  const label = words.slice(0, -1).join(" ").replace(/:$/, "")
  if (label === "" || label.length > MAX_LABEL) return `a label of 1 to ${MAX_LABEL} characters before ${words.at(-1)}`
  return /[\p{Cc}\p{Cf}]/u.test(label) ? "a label without invisible characters" : { ...target, label }
}

const offer: Text<string> = Schema.String.check(
  Schema.makeFilter((text) => {
    const found = readOffer(text)
    return typeof found === "string" ? found : true
  }),
).annotate({ expected: EXPECTED })

export const OverflowSettings = Schema.Struct({
  AfterSeconds: withDefault(wholeNumber(0, 86_400), 120, {
    description: "how long the wait must be, expected or past, before the caller is offered something else",
  }),
  Offers: listWithDefault(list(offer), [], "none", {
    description:
      "what is offered to a caller who would wait long, or who finds the queue full, the campaign closed or a budget used up: a label, then `tel:` with a number, an `https` address, or `campaign:` with the name of another campaign",
    documentation: "See [Overflow](control.md#overflow)",
  }),
})

/** What a campaign offers. */
export interface CampaignOverflow {
  readonly AfterSeconds: number
  readonly Offers: ReadonlyArray<string>
}

/** Undefined for a campaign that offers nothing. */
export const overflowOf = ({ AfterSeconds, Offers }: typeof OverflowSettings.Type): CampaignOverflow | undefined =>
  Offers.length === 0 ? undefined : { AfterSeconds, Offers }

/** The offers of settings that were read; without those that lead to the campaign itself, as an inherited one may. */
export const offersOf = (campaign: string, { Offers }: CampaignOverflow): ReadonlyArray<Offer> =>
  Offers.flatMap((text) => {
    const found = readOffer(text)
    return typeof found === "string" || (found.kind === "campaign" && found.target === campaign) ? [] : [found]
  })

/** Reports offers of a campaign that does not exist, or of the campaign itself. */
export const checkOffers = (
  read: Reader,
  base: string,
  campaign: { readonly name: string; readonly Overflow?: CampaignOverflow | undefined },
  names: ReadonlyArray<string>,
): void => {
  const offers = campaign.Overflow?.Offers ?? []
  // one that is no offer is reported already, and the numbers of the others are not known then
  if (read.problems.some(({ path }) => path.startsWith(`${base}.Overflow.Offers`))) return
  for (const [index, text] of offers.entries()) {
    const found = readOffer(text)
    if (typeof found === "string" || found.kind !== "campaign") continue
    const item = `${base}.Overflow.Offers.${index}`
    // an inherited one is reported once, where it is written
    const path = read.has(`${base}.Overflow.Offers`) ? item : undefined
    if (path === undefined) continue
    if (!names.includes(found.target)) {
      const known = names.length === 1 ? "they have only default" : `they have ${names.join(", ")}`
      read.reportInvalid(
        path,
        `a campaign of these settings; ${known}. Add ${found.target} below VoiceAiPlatform.Campaigns, or leave this offer out`,
      )
    } else if (found.target === campaign.name) {
      read.reportInvalid(path, "another campaign than the one that offers it")
    }
  }
}
