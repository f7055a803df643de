import { assert, describe, it } from "@effect/vitest"
import { type Json, minimal, pathsOf, treeOf } from "./support.ts"

describe("the lookups of one network", () => {
  it.each([
    [{}, 60],
    [{ LookupsPerMinute: 10_000 }, 1_000],
    [{ LookupsPerMinute: 20 }, 5],
    [{ LookupsPerMinute: 3 }, 3],
    [{ LookupsPerMinute: 600, NetworkLookupsPerMinute: 7 }, 7],
  ])("the lookups of one network of %j are %d a minute", (IpIntel, expected) => {
    assert.strictEqual(treeOf({ ...minimal, IpIntel }).IpIntel.NetworkLookupsPerMinute, expected)
  })

  it("are at most all lookups", () => {
    assert.deepStrictEqual(pathsOf({ ...minimal, IpIntel: { LookupsPerMinute: 10, NetworkLookupsPerMinute: 11 } }), [
      "IpIntel.NetworkLookupsPerMinute",
    ])
  })
})

describe("the provider of IP intelligence", () => {
  const providerOf = (IpIntel: Json) => treeOf({ ...minimal, IpIntel }).IpIntel.Provider

  it("follows from other settings when it is not set", () => {
    assert.strictEqual(providerOf({}), "none")
    assert.strictEqual(providerOf({ Lists: { Tor: ["tor.txt"] } }), "lists")
    assert.strictEqual(providerOf({ ApiKey: "k", Lists: { Tor: ["tor.txt"] } }), "ipapi.is")
    assert.strictEqual(providerOf({ BaseUrl: "http://127.0.0.1:1" }), "ipapi.is")
    assert.strictEqual(providerOf({ ApiKey: "k", Provider: "none" }), "none")
  })

  it.each([
    ["ipapi", "ipapi.is"],
    ["IPAPI.is", "ipapi.is"],
    ["ProxyCheck", "proxycheck.io"],
    ["vpnapi.io", "vpnapi.io"],
    ["IP2Location", "ip2location.io"],
    ["ip-info", "ipinfo.io"],
    ["None", "none"],
  ])("is named %s as well", (Provider, expected) => {
    assert.strictEqual(providerOf({ Provider, ApiKey: "k" }), expected)
  })

  it.each<[string, string]>([
    ["maxmind", "IpIntel.BaseUrl"],
    ["ipinfo", "IpIntel.ApiKey"],
    ["lists", "IpIntel.Lists"],
    ["whois", "IpIntel.Provider"],
  ])("%s without the setting that it needs is a problem of %s", (Provider, path) => {
    assert.deepStrictEqual(pathsOf({ ...minimal, IpIntel: { Provider } }), [path])
  })

  it("a provider of IP intelligence over HTTP needs a valid URL", () => {
    assert.deepStrictEqual(pathsOf({ ...minimal, IpIntel: { BaseUrl: "proxy.local" } }), ["IpIntel.BaseUrl"])
    assert.strictEqual(providerOf({ Provider: "maxmind", BaseUrl: "data/anonymous.mmdb" }), "maxmind")
  })
})
