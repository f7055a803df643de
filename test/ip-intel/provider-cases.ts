/** The answers of each provider, and the facts or the failure that they are. */
import type { Redacted } from "effect"
import type { Provider } from "../../src/ip-intel/facts.ts"
import { type IpFacts, noFacts } from "../../src/ip-intel/facts.ts"
import { ip2location } from "../../src/ip-intel/providers/ip2location.ts"
import { ipapiIs } from "../../src/ip-intel/providers/ipapi-is.ts"
import { ipinfo } from "../../src/ip-intel/providers/ipinfo.ts"
import { proxycheck } from "../../src/ip-intel/providers/proxycheck.ts"
import { vpnapi } from "../../src/ip-intel/providers/vpnapi.ts"
import type { HttpProviderOptions } from "../../src/ip-intel/request.ts"
import { ipSettings, KEY } from "./support.ts"

export const IP = "8.8.8.8"
export const vpn: IpFacts = { ...noFacts, vpn: true }
const proxy: IpFacts = { ...noFacts, proxy: true }
const tor: IpFacts = { ...noFacts, tor: true }
const datacenter: IpFacts = { ...noFacts, datacenter: true }
const relay: IpFacts = { ...noFacts, relay: true }
/** The provider supports these facts but did not report them. */
const unknown: IpFacts = { vpn: null, proxy: null, tor: null, datacenter: null, relay: null }

interface Case {
  readonly make: (options: HttpProviderOptions) => Provider
  /** the URL for `IP`, without the key */
  readonly url: string
  /** the same with `BaseUrl` set to http://fake.example/ip/ */
  readonly urlAtBase: string
  readonly keyIn: "query" | "bearer"
  readonly facts: ReadonlyArray<readonly [name: string, body: unknown, facts: IpFacts]>
  /** answers with status 200 that are failures */
  readonly failures: ReadonlyArray<readonly [name: string, body: unknown, reason: string]>
  readonly forbidden: "quota" | "unauthorized"
}

const detections = (flags: object) => ({ status: "ok", [IP]: { detections: flags }, query_time: 3 })

const ipapi = { ip: IP, is_bogon: false, is_datacenter: false, is_tor: false, is_proxy: false, is_vpn: false }
export const allClear = { vpn: false, proxy: false, tor: false, hosting: false }
export const security = { vpn: false, proxy: false, tor: false, relay: false }
const ip2proxy = { is_vpn: false, is_tor: false, is_data_center: false, is_public_proxy: false, is_web_proxy: false }
const anonymous = { is_vpn: false, is_proxy: false, is_tor: false, is_relay: false }

export const cases: Record<string, Case> = {
  "ipapi.is": {
    make: ipapiIs,
    url: `https://api.ipapi.is/?q=${IP}`,
    urlAtBase: `http://fake.example/ip/?q=${IP}`,
    keyIn: "query",
    forbidden: "quota",
    facts: [
      ["clean", ipapi, noFacts],
      ["VPN", { ...ipapi, is_vpn: true, is_abuser: true, vpn: { service: "x" } }, vpn],
      ["proxy", { ...ipapi, is_proxy: true }, proxy],
      ["Tor", { ...ipapi, is_tor: true }, tor],
      ["datacenter", { ...ipapi, is_datacenter: true, datacenter: { datacenter: "x" } }, datacenter],
      [
        "privacy relay, told by the name of the VPN's service",
        { ...ipapi, is_vpn: true, is_proxy: true, is_datacenter: true, vpn: { service: "iCloud Private Relay" } },
        { ...relay, datacenter: true },
      ],
      ["null, which is not clean", { ...ipapi, is_vpn: null, is_tor: true }, { ...tor, vpn: null }],
      ["absent keys, which are not clean", { ip: IP, is_vpn: true }, { ...unknown, vpn: true, relay: false }],
    ],
    failures: [
      ["with a null alone", { ip: IP, is_vpn: null }, "malformed"],
      ["with no fact that can be blocked", { ip: IP, is_bogon: false }, "malformed"],
      ["without any fact", { ip: IP }, "malformed"],
      ["with an error about the key", { error: `no such key ${KEY}` }, "unauthorized"],
      ["with an error about the address", { error: "Invalid IP Address or AS Number" }, "rejected"],
      ["with another error", { ...ipapi, error: "internal problem" }, "refused"],
      ["with a message about the quota", { message: "You have exceeded your daily API limit." }, "quota"],
      ["with facts of another type", { ip: IP, is_vpn: "yes" }, "malformed"],
    ],
  },
  "proxycheck.io": {
    make: proxycheck,
    url: `https://proxycheck.io/v3/${IP}`,
    urlAtBase: `http://fake.example/ip/v3/${IP}`,
    keyIn: "query",
    forbidden: "unauthorized",
    facts: [
      ["clean", detections({ vpn: false, proxy: false, tor: false, hosting: false, risk: 0 }), noFacts],
      ["VPN", detections({ ...allClear, vpn: true, risk: 73 }), vpn],
      ["proxy", detections({ ...allClear, proxy: true }), proxy],
      ["Tor", detections({ ...allClear, tor: true }), tor],
      ["datacenter", detections({ ...allClear, hosting: true }), datacenter],
      [
        "privacy relay, told by the name of its operator",
        {
          status: "ok",
          [IP]: {
            detections: { ...allClear, vpn: true, proxy: true },
            operator: { name: "Apple iCloud Private Relay" },
          },
        },
        relay,
      ],
      [
        "absent and null keys, which are not clean",
        detections({ tor: false, vpn: null }),
        { ...unknown, tor: false, relay: false },
      ],
      [
        "VPN in a hosting range, with a warning",
        { ...detections({ ...allClear, vpn: true, hosting: true }), status: "warning", message: "near the limit" },
        { ...vpn, datacenter: true },
      ],
    ],
    failures: [
      ["denied", { status: "denied", message: `exhausted for ${KEY}` }, "quota"],
      ["denied although the address is there", { ...detections({}), status: "denied" }, "quota"],
      ["an error about the address", { status: "error", message: "No valid IP addresses supplied." }, "rejected"],
      ["an error about the key", { status: "error", message: `The key ${KEY} is not valid.` }, "unauthorized"],
      ["an error about something else", { status: "error", message: "Try again later." }, "refused"],
      ["a warning without the address", { status: "warning", message: "x" }, "refused"],
      ["another address", { status: "ok", "9.9.9.9": { detections: {} } }, "malformed"],
      ["with no detection", detections({}), "malformed"],
      ["without detections", { status: "ok", [IP]: {} }, "malformed"],
      ["without status", { [IP]: { detections: {} } }, "malformed"],
    ],
  },
  "vpnapi.io": {
    make: vpnapi,
    url: `https://vpnapi.io/api/${IP}`,
    urlAtBase: `http://fake.example/ip/api/${IP}`,
    keyIn: "query",
    forbidden: "unauthorized",
    facts: [
      ["clean", { ip: IP, security: { vpn: false, proxy: false, tor: false, relay: false } }, noFacts],
      ["VPN", { ip: IP, security: { ...security, vpn: true } }, vpn],
      ["proxy", { ip: IP, security: { ...security, proxy: true } }, proxy],
      ["Tor", { ip: IP, security: { ...security, tor: true } }, tor],
      ["relay, which is no VPN", { ip: IP, security: { ...security, vpn: true, relay: true } }, relay],
      [
        "absent keys, which are not clean; it never reports datacenters",
        { ip: IP, security: { vpn: true, tor: null } },
        { ...unknown, vpn: true, datacenter: false },
      ],
    ],
    failures: [
      ["with nothing in security", { ip: IP, security: {} }, "malformed"],
      ["with a relay alone", { ip: IP, security: { relay: false } }, "malformed"],
      ["only a message about the key", { message: `Invalid API Key ${KEY}` }, "unauthorized"],
      ["only a message about the quota", { message: "You have reached your daily request limit reached." }, "quota"],
      ["only a message about the address", { message: "Invalid IP address" }, "rejected"],
      ["only another message", { message: "Something went wrong" }, "refused"],
      ["security of another type", { security: "none" }, "malformed"],
    ],
  },
  "ip2location.io": {
    make: ip2location,
    url: `https://api.ip2location.io/?ip=${IP}&format=json`,
    urlAtBase: `http://fake.example/ip/?ip=${IP}&format=json`,
    keyIn: "query",
    forbidden: "unauthorized",
    facts: [
      ["clean", { ip: IP, is_proxy: false, proxy: ip2proxy }, noFacts],
      ["no proxy, without details", { ip: IP, is_proxy: false }, { ...noFacts, datacenter: null }],
      ["some proxy, without details", { ip: IP, is_proxy: true }, { ...unknown, proxy: true, relay: false }],
      ["VPN, which is no proxy", { ip: IP, is_proxy: true, proxy: { ...ip2proxy, is_vpn: true } }, vpn],
      ["public proxy", { ip: IP, is_proxy: true, proxy: { ...ip2proxy, is_public_proxy: true } }, proxy],
      ["web proxy", { ip: IP, is_proxy: true, proxy: { ...ip2proxy, is_web_proxy: true } }, proxy],
      ["residential proxy", { ip: IP, is_proxy: true, proxy: { ...ip2proxy, is_residential_proxy: true } }, proxy],
      [
        "no residential proxy",
        { ip: IP, is_proxy: false, proxy: { ...ip2proxy, is_residential_proxy: false } },
        noFacts,
      ],
      [
        "null of residential proxies, which is not clean",
        { ip: IP, is_proxy: false, proxy: { ...ip2proxy, is_residential_proxy: null } },
        { ...noFacts, proxy: null },
      ],
      [
        "consumer privacy network, which is a relay and no VPN",
        { ip: IP, is_proxy: true, proxy: { ...ip2proxy, is_vpn: true, is_consumer_privacy_network: true } },
        relay,
      ],
      ["Tor", { ip: IP, is_proxy: true, proxy: { ...ip2proxy, is_tor: true } }, tor],
      ["datacenter", { ip: IP, is_proxy: false, proxy: { ...ip2proxy, is_data_center: true } }, datacenter],
      [
        "absent details, which are not clean",
        { ip: IP, is_proxy: true, proxy: { is_web_proxy: false, is_tor: false } },
        { ...unknown, tor: false, relay: false },
      ],
    ],
    failures: [
      ["with nothing in proxy", { ip: IP, proxy: {} }, "malformed"],
      ["with nothing in proxy, although is_proxy is false", { ip: IP, is_proxy: false, proxy: {} }, "malformed"],
      ["without any fact", { ip: IP, country_code: "US" }, "malformed"],
      [
        "an error about the key",
        { error: { error_code: 10001, error_message: `API key ${KEY} not found.` } },
        "unauthorized",
      ],
      ["an error about credits", { error: { error_code: 10003, error_message: "Insufficient queries." } }, "quota"],
      [
        "an error about the address",
        { error: { error_code: 10006, error_message: "Invalid IP address." } },
        "rejected",
      ],
    ],
  },
  "ipinfo.io": {
    make: ipinfo,
    url: `https://api.ipinfo.io/lookup/${IP}`,
    urlAtBase: `http://fake.example/ip/lookup/${IP}`,
    keyIn: "bearer",
    forbidden: "unauthorized",
    facts: [
      ["clean", { ip: IP, anonymous, is_hosting: false }, noFacts],
      ["VPN", { ip: IP, anonymous: { ...anonymous, is_vpn: true }, is_hosting: false }, vpn],
      ["proxy", { ip: IP, anonymous: { ...anonymous, is_proxy: true }, is_hosting: false }, proxy],
      ["residential proxy", { ip: IP, anonymous: { ...anonymous, is_res_proxy: true }, is_hosting: false }, proxy],
      [
        "no residential proxy",
        { ip: IP, anonymous: { ...anonymous, is_res_proxy: false }, is_hosting: false },
        noFacts,
      ],
      ["Tor", { ip: IP, anonymous: { ...anonymous, is_tor: true }, is_hosting: false }, tor],
      ["relay", { ip: IP, anonymous: { ...anonymous, is_relay: true }, is_hosting: false }, relay],
      ["datacenter", { ip: IP, anonymous, is_hosting: true }, datacenter],
      [
        "absent and null keys, which are not clean",
        { ip: IP, anonymous: { is_proxy: false, is_res_proxy: null, is_tor: false } },
        { ...unknown, tor: false },
      ],
      ["not anonymous in any way", { ip: IP, is_anonymous: false, is_hosting: false }, noFacts],
      [
        "anonymous without saying how",
        { ip: IP, is_anonymous: true, is_hosting: true },
        { ...unknown, proxy: true, datacenter: true },
      ],
    ],
    failures: [
      ["with nothing in anonymous", { ip: IP, anonymous: {} }, "malformed"],
      ["without any fact", { ip: IP, country: "US" }, "malformed"],
      ["a status and an error", { status: 429, error: { title: "Busy", message: "Wait." } }, "quota"],
      [
        "an error about the token",
        { error: { title: "Unknown token", message: "Provide a valid token" } },
        "unauthorized",
      ],
    ],
  },
}

export const apiKey: Redacted.Redacted<string> | undefined = ipSettings().ApiKey
