/** The settings of who may do what, and how often. */
import { Schema } from "effect"
import { origin, proxies } from "../network-values.ts"
import { consoleToken, signingSecret, webhookToken } from "../secret-values.ts"
import { listWithDefault, optional, withDefault } from "../setting.ts"
import { flag, list, wholeNumber } from "../values.ts"

const count = wholeNumber(0, 1_000_000)

export const SecuritySettings = Schema.Struct({
  WebhookApiToken: listWithDefault(
    list(webhookToken),
    [],
    "required, unless `WebhookSigningSecret` is set or only loopback is served",
    {
      description: "the value of `X-Api-Token` of the platform's webhook, at least 16 characters; several for rotation",
      documentation:
        "Only loopback is served where `Server.Host` is a loopback address and `TrustedProxies` is empty: without a token, webhooks are taken from this machine only, and not through a proxy. A gate inside a host (`createGate`) always needs one of the two",
    },
  ),
  WebhookSigningSecret: listWithDefault(
    list(signingSecret),
    [],
    "required, unless `WebhookApiToken` is set or only loopback is served",
    {
      description: "secret of Standard Webhooks (`whsec_…`); several for rotation",
    },
  ),
  ConsoleToken: optional(consoleToken, "off", {
    description: "opens the operator's console at `/console`, at least 16 characters; no console without it",
  }),
  RateLimitHourly: withDefault(count, 20, {
    description: "calls an hour of one address, IPv6 of one /64; 0 is no limit",
    documentation:
      "Price: an office or a mobile network behind one IPv4 address (NAT) shares them; raise this and `RateLimitDaily` to what its people need together",
  }),
  RateLimitDaily: withDefault(count, 100, {
    description: "calls a day of one address, IPv6 of one /64; 0 is no limit",
  }),
  RateLimitConcurrency: withDefault(count, 3, {
    description:
      "tickets of one address, IPv6 of one /64, that may be open at once: waiting, called or talking; 0 is no limit",
    documentation:
      "Price: the fourth person of an office behind one address is refused (429) until one of its calls is over",
  }),
  RefundsPerHour: withDefault(count, 10, {
    description: "the most units that are given back to one address in any hour; 0 gives nothing back",
    documentation:
      "Price: people behind one address who leave the queue more than ten times an hour use up each other's calls",
  }),
  MissedTurnCost: withDefault(wholeNumber(1, 100), 3, {
    description: "units of the hour and of the day that a missed turn costs in all; 1 is as much as a call",
    documentation:
      "Leaving more than 5 s after being called is a missed turn too. Price: whoever looks away for `Queue.StartWindowSeconds`, or takes long to say no, has two calls less, and so have the others behind the same address",
  }),
  StatusPerMinute: withDefault(count, 120, {
    description:
      "how often one address, IPv6 one /64, may ask for the state of tickets (`GET /api/session/{id}`) in a minute, at each instance; 0 is no limit",
    documentation:
      "The same again for starting and leaving, for session requests that name a ticket, for events of tickets that there are not, for negotiations of the hub and for its connections; its network (the /24, the /48) five times that. Price: behind one address some 20 people who poll every 10 s; events have no such limit",
  }),
  BlockVpn: withDefault(flag, true, { description: "refuse VPN addresses" }),
  BlockProxy: withDefault(flag, true, { description: "refuse open and residential proxies" }),
  BlockTor: withDefault(flag, true, { description: "refuse Tor exits" }),
  BlockDatacenter: withDefault(flag, false, { description: "refuse datacenter addresses" }),
  AllowedOrigins: listWithDefault(list(origin), [], "none", {
    description: "origins of pages beside the gate's own that may use it, such as `https://shop.example`, or `*`",
    documentation:
      "Pages that only `*` lets in send and get no cookies, so a SignalR client there needs `withCredentials: false`",
  }),
  TrustedProxies: listWithDefault(proxies, [], "none", {
    description:
      "addresses and CIDRs (no leading zeros) whose `X-Forwarded-For` is believed, or the words `loopback` and `private`",
  }),
})
