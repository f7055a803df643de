/** The settings of authentication, limits, blocking, origins and proxies. */
import { Schema } from "effect"
import { CALLER_BITS, NETWORK_BITS } from "../../lib/ip/address.ts"
import { listWithDefault, withDefault } from "../setting.ts"
import { addressHeader, headerName, origin, proxies } from "../values/network.ts"
import { consoleToken, signingSecret, webhookToken } from "../values/secret.ts"
import { flag, list, wholeNumber } from "../values/values.ts"

const count = wholeNumber(0, 1_000_000)

/** A limit to try out beside the one in force. */
const shadowLimit = (name: string) =>
  withDefault(count, 0, {
    description: `a value of \`${name}\` to try out: what it would refuse is counted and logged, and nobody is refused; 0 is none`,
  })

/** A block to try out. */
const shadowBlock = (whom: string, name: string) =>
  withDefault(flag, false, {
    description: `count and log ${whom} without refusing them; no effect while \`${name}\` is on`,
  })

export const SecuritySettings = Schema.Struct({
  WebhookApiToken: listWithDefault(
    list(webhookToken),
    [],
    "none: webhooks are refused, unless `WebhookSigningSecret` is set or only loopback is served",
    {
      description: "the value of `X-Api-Token` of the platform's webhook, at least 16 characters; several for rotation",
      documentation:
        "Without this and `WebhookSigningSecret` the gate starts, refuses webhooks and warns. Then a slot is free when the platform says that its call is over, at the latest after `Queue.MaxCallMinutes`. If the key may read calls, the gate asks the platform when the caller's page reports the end, and once a minute about calls older than 3 minutes. Where only loopback is served (`Server.Host` is a loopback address and `TrustedProxies` is empty), webhooks from this machine are accepted. The webhooks of [vendors](vendors.md) need neither: they have signatures of their own",
    },
  ),
  WebhookSigningSecret: listWithDefault(list(signingSecret), [], "none", {
    description: "secret of Standard Webhooks (`whsec_…`); several for rotation",
  }),
  ConsoleToken: listWithDefault(list(consoleToken), [], "off", {
    description:
      "token that opens the operator's console at `/console`, at least 16 characters; several for rotation; there is no console without it",
  }),
  RateLimitHourly: withDefault(count, 20, {
    shared: true,
    description: `session requests of one address (IPv6: of one /${CALLER_BITS}) that are accepted in any hour; 0 is no limit`,
    documentation:
      "Cost: an office or a mobile network behind one IPv4 address (NAT) shares the limit. Raise this and `RateLimitDaily` to what its people need together",
  }),
  RateLimitDaily: withDefault(count, 100, {
    shared: true,
    description: `session requests of one address (IPv6: of one /${CALLER_BITS}) that are accepted in any day; 0 is no limit`,
  }),
  RateLimitConcurrency: withDefault(count, 0, {
    shared: true,
    description: `tickets of one address (IPv6: of one /${CALLER_BITS}) that may be open at once: waiting, called or in a call; 0 is no limit`,
    documentation:
      "Without it, one address may hold as many slots and places as its hourly limit has requests. Cost of a limit of 3: the fourth person in an office or a mobile network behind one address is refused (429) until one of its calls is over",
  }),
  RefundsPerHour: withDefault(count, 10, {
    shared: true,
    description:
      "the most units given back to one address in any hour, of calls that did not start because the queue, the store or the platform failed; 0 gives nothing back",
  }),
  MissedTurnCost: withDefault(wholeNumber(1, 100), 1, {
    shared: true,
    description: "units of the hour and of the day that a missed turn costs in total; 1 is as much as a call",
    documentation:
      "Leaving more than 5 s after being called is a missed turn too. A higher cost is for a gate under attack: an address that is called and never starts gets fewer turns. Then a caller who does not react within `Queue.StartWindowSeconds`, or declines late, has fewer calls, and so has everyone behind the same address",
  }),
  StatusPerMinute: withDefault(count, 120, {
    description:
      "how often one ticket may be asked about (`GET /api/session/{id}`) per minute, at each instance; 0 is no limit",
    documentation: `These have the same limit, each counted apart: starting and leaving, session requests that name the ticket, connections for its events, commands on those. Tickets that the instance does not know are counted by address (IPv6: by /${CALLER_BITS}) instead, and so are negotiations and connections of the hub. A network (IPv4 /24, IPv6 /${NETWORK_BITS}) has five times the limit for unknown tickets, and fifty times for the hub. Beyond that each of its addresses may still ask six times, and a called ticket can always be started`,
  }),
  BlockVpn: withDefault(flag, true, { description: "refuse VPN addresses" }),
  BlockProxy: withDefault(flag, true, { description: "refuse open and residential proxies" }),
  BlockTor: withDefault(flag, true, { description: "refuse Tor exits" }),
  BlockDatacenter: withDefault(flag, false, { description: "refuse datacenter addresses" }),
  /** Limits and blocks that are counted and not enforced. */
  Shadow: Schema.Struct({
    RateLimitHourly: shadowLimit("RateLimitHourly"),
    RateLimitDaily: shadowLimit("RateLimitDaily"),
    RateLimitConcurrency: shadowLimit("RateLimitConcurrency"),
    BlockVpn: shadowBlock("VPN addresses", "BlockVpn"),
    BlockProxy: shadowBlock("open and residential proxies", "BlockProxy"),
    BlockTor: shadowBlock("Tor exits", "BlockTor"),
    BlockDatacenter: shadowBlock("datacenter addresses", "BlockDatacenter"),
  }),
  AllowedOrigins: listWithDefault(list(origin), [], "none", {
    description:
      "origins of other pages that may use the gate, such as `https://shop.example`, or `*`; the gate's own origin is always allowed",
    documentation:
      "A page that is allowed by `*` alone neither sends nor receives cookies, so a SignalR client there needs `withCredentials: false`",
  }),
  AllowedHeaders: listWithDefault(list(headerName), [], "none", {
    description:
      "further request headers that those pages may send with session requests, such as `X-Tenant`; the names in a widget's `headers` option",
    documentation:
      "Browsers ask for each of them in a preflight. The gate does not read them: they are for a proxy in front of it, or for a host. The console and the webhook do not accept them from other origins",
  }),
  TrustedProxies: listWithDefault(proxies, [], "none", {
    description:
      "addresses and CIDRs (no leading zeros) whose `ClientAddressHeader` is trusted, or the words `loopback` and `private`",
    documentation:
      "Without it all callers behind a proxy count as one address, with one limit; the log says so when a header shows a proxy",
  }),
  ClientAddressHeader: withDefault(addressHeader, "x-forwarded-for", {
    description:
      "the header in which trusted proxies name the caller's address: `X-Forwarded-For`, `Forwarded` (RFC 7239), or one of a CDN such as `CF-Connecting-IP`",
    documentation:
      "It is read from the right over the trusted proxies, so a proxy must append to it or replace it. Choose another than `X-Forwarded-For` only if the proxy sets it itself and lets no caller choose it",
  }),
})
