/** What a caller is offered who would wait long, or who cannot be taken: other ways to be heard. */
import { Schema } from "effect"

/** What an offer is: a telephone number, a page, or another campaign of the gate. */
export const OfferKind = Schema.Literals(["number", "link", "campaign"])
export type OfferKind = typeof OfferKind.Type

export const Offer = Schema.Struct({
  kind: OfferKind.annotate({ description: "`number` to call, `link` to open, `campaign` to ask for a session in." }),
  label: Schema.String.annotate({ description: "What the caller reads." }),
  target: Schema.String.annotate({
    description: "`tel:` with the number, an https address, or the `campaignId` of the other campaign.",
  }),
})
export type Offer = typeof Offer.Type

export const Offers = Schema.Array(Offer).annotate({
  description:
    "Other ways for a caller who would wait long, or is not taken; absent where the campaign offers none (`Overflow`).",
})

/** A field of answers that may offer something; the key is absent without offers. */
export const offersField = Schema.optionalKey(Offers)

export const withOffers = (offers: ReadonlyArray<Offer> | undefined): { readonly offers?: ReadonlyArray<Offer> } =>
  offers === undefined || offers.length === 0 ? {} : { offers }
