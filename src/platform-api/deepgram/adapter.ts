/**
 * Deepgram's Voice Agent. A start makes a token, with which the page opens the agent's WebSocket, by `@deepgram/sdk` or the subprotocols
 * `bearer` and the token. Deepgram reports no ends and ends no call on request: the slot is freed by the page's report, or after the
 * maximum length of a call.
 */

import { Clock, DateTime, Effect, Redacted, Schema } from "effect"
import type { StartConfig } from "../../protocol/request.ts"
import type { Adapter, AdapterContext } from "../adapter.ts"
import type { WebSession } from "../model.ts"
import type { Call } from "../requests/transport.ts"
import { expiryOf, newSessionId } from "../shared/own-session.ts"
import { checkAgent, saysConcurrency, startsNothing, vendorEndpoint } from "../shared/vendor.ts"
import type { DeepgramSettings } from "./settings.ts"

const Token = Schema.Struct({ access_token: Schema.NonEmptyString })

/** Deepgram's limit of a session (s). */
const LONGEST_SESSION_SECONDS = 2 * 60 * 60

/** The region in the name of one of Deepgram's hosts, `us` where it has none; undefined of another host, such as a proxy. */
const regionOf = (address: string): string | undefined => {
  const found = /^(?:api|agent)(?:\.([a-z]+))?\.deepgram\.com$/.exec(URL.parse(address)?.hostname ?? "")
  return found === null ? undefined : (found[1] ?? "us")
}

/** A token of one region opens nothing in another, and each region of a project has a limit of its own. */
const otherRegion = (baseUrl: string, url: string): ReadonlyArray<string> => {
  const [tokens, sessions] = [regionOf(baseUrl), regionOf(url)]
  return tokens === undefined || sessions === undefined || tokens === sessions
    ? []
    : [
        `Deepgram.Url: Its region is ${sessions}, and that of Deepgram.BaseUrl, which makes the tokens, is ${tokens}. Both must be of one region, ` +
          "such as wss://api.eu.deepgram.com and https://api.eu.deepgram.com/.",
      ]
}

export const deepgram = (
  { AgentId, ApiKey, BaseUrl, Url }: DeepgramSettings,
  { campaign, lifetimeSeconds, longestCallSeconds, send }: AdapterContext,
): Adapter => {
  const endpoint = vendorEndpoint({
    vendor: "Deepgram",
    campaign,
    headers: { authorization: `Token ${Redacted.value(ApiKey)}` },
    secrets: [ApiKey],
    isAtCapacity: saysConcurrency,
  })
  const grant = (kind: Call["kind"], seconds: number, group?: string) => {
    const call: Call = { kind, method: "POST", path: "v1/auth/grant", body: { ttl_seconds: seconds } }
    return send(endpoint, Token, call, group)
  }

  const mint = Effect.fnUntraced(function* (_: StartConfig, group: string) {
    // from before the request: Deepgram counts from its answer, and the stated expiry must not be later than the real one
    const expiry = Math.floor((yield* Clock.currentTimeMillis) / 1000) + lifetimeSeconds
    const { access_token: token } = yield* startsNothing(grant("start", lifetimeSeconds, group))
    const session: WebSession = {
      sessionIds: [newSessionId(expiry)],
      credential: {
        shape: "url+token",
        platform: "deepgram",
        url: `${Url}/v1/agent/converse`,
        token,
        expiresAt: DateTime.formatIso(DateTime.makeUnsafe(expiry * 1000)),
        details: { agentId: AgentId },
      },
    }
    return session
  })

  return {
    mint,
    pageEnds: ({ sessionIds: [id = ""] }) => expiryOf(id) ?? 0,
    check: checkAgent(grant("read", 1), {
      group: "Deepgram",
      baseUrl: campaign.BaseUrl,
      agent: "BaseUrl",
      settings: Schema.Unknown,
      breaks: () => [
        Effect.succeed([
          ...otherRegion(BaseUrl, Url),
          ...(longestCallSeconds > LONGEST_SESSION_SECONDS
            ? [
                `Queue.MaxCallMinutes: Deepgram closes a session after ${LONGEST_SESSION_SECONDS / 60} minutes. A longer time only holds the slots of ` +
                  "pages that never leave.",
              ]
            : []),
        ]),
      ],
      may: "make tokens",
      bounds:
        `a token opens any number of sessions until it expires, ${lifetimeSeconds} s after it was made; ` +
        "Deepgram's limit of concurrent sessions, of the project in this region, bounds them",
    }),
  }
}
