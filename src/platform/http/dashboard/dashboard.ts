/** The dashboard: its page at `/` and its API below `/dashboard/api`, over the platform's services. */
import { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import * as SetupChecks from "../../businesses/SetupChecks.ts"
import * as Running from "../../calls/Running.ts"
import * as DashboardSessions from "../../users/DashboardSessions.ts"
import * as PasswordProof from "../../users/PasswordProof.ts"
import * as Deliveries from "../../webhooks/Deliveries.ts"
import { DashboardApi } from "../DashboardApi.ts"
import { account } from "./account.ts"
import { forms, sameOrigin } from "./middleware.ts"
import { page } from "./page.ts"
import { preview } from "./preview.ts"
import { audit, conversations, deliveries, setup } from "./records.ts"
import { businesses, campaigns, keys } from "./resources.ts"
import { session, sessionHandlers } from "./session.ts"

/**
 * @param options.page the directory of the built page
 * @param options.secure whether browsers always reach this platform over TLS, for instance through a proxy
 */
export const dashboard = (options: { readonly page: string; readonly secure: boolean }) => {
  const proof = PasswordProof.layer
  const groups = Layer.mergeAll(
    account(options.secure).pipe(Layer.provide(proof)),
    sessionHandlers(options.secure).pipe(Layer.provide(proof)),
    keys,
    businesses,
    campaigns,
    conversations,
    deliveries,
    audit,
    setup,
  )
  const api = HttpApiBuilder.layer(DashboardApi).pipe(
    Layer.provide(groups),
    Layer.provide([session, sameOrigin, forms]),
    Layer.provide([DashboardSessions.layer, Deliveries.layer, Running.layer, SetupChecks.layer]),
  )
  return Layer.mergeAll(api, page(options.page), preview)
}
