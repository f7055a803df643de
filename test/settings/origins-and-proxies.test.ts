import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import fc from "fast-check"
import { trustedProxies } from "../../src/lib/ip/client-address.ts"
import { NO_VARIABLES } from "../../src/settings/given.ts"
import { resolveSettings } from "../../src/settings/reading/resolve.ts"
import { pathsOf, treeOf, valid, withSecurity } from "./support.ts"

describe("origins and proxies", () => {
  it.each([
    ["https://shop.example", "https://shop.example"],
    ["https://shop.example/", "https://shop.example"],
    ["https://Shop.Example:443", "https://shop.example"],
    ["http://localhost:5173", "http://localhost:5173"],
    ["*", "*"],
  ])("the origin %s is compared as %s", (given, expected) => {
    assert.deepStrictEqual(treeOf(withSecurity({ AllowedOrigins: given })).Security.AllowedOrigins, [expected])
  })

  it("header names are compared in lower case, and must be names", () => {
    assert.deepStrictEqual(treeOf(withSecurity({ AllowedHeaders: ["X-Tenant", "x-tenant"] })).Security.AllowedHeaders, [
      "x-tenant",
    ])
    for (const given of ["*", "X Tenant", "X-Tenant: 1", "X-Tenant\r\nX-More", "x,y"]) {
      assert.deepStrictEqual(pathsOf(withSecurity({ AllowedHeaders: [given] })), ["Security.AllowedHeaders.0"], given)
    }
  })

  it("names that every object has are none of headers, and the caller's address is in no header that callers write themselves", () => {
    for (const given of ["__proto__", "constructor"]) {
      assert.deepStrictEqual(pathsOf(withSecurity({ AllowedHeaders: [given] })), ["Security.AllowedHeaders.0"], given)
    }
    for (const given of [
      "__proto__",
      "Host",
      "Cookie",
      "Authorization",
      "Content-Length",
      "Origin",
      "X-Forwarded-Host",
    ]) {
      assert.deepStrictEqual(
        pathsOf(withSecurity({ ClientAddressHeader: given })),
        ["Security.ClientAddressHeader"],
        given,
      )
    }
    for (const given of ["CF-Connecting-IP", "Forwarded", "X-Real-IP", "X_Real_IP", "True-Client-IP"]) {
      const { ClientAddressHeader } = treeOf(withSecurity({ ClientAddressHeader: given })).Security
      assert.strictEqual(ClientAddressHeader, given.toLowerCase())
    }
  })

  it.each([
    "shop.example",
    "https://shop.example/path",
    "https://shop.example?x",
    "https://*.example",
    "https://a.example,https://b.example",
    "null",
    "ws://shop.example",
  ])("the origin %s is refused", (given) => {
    assert.deepStrictEqual(pathsOf(withSecurity({ AllowedOrigins: [given] })), ["Security.AllowedOrigins.0"])
  })

  it("proxies are addresses, ranges and two words", () => {
    const given = ["203.0.113.7", "10.1.0.0/16", "2001:db8::/32", "loopback", "Private"]
    assert.deepStrictEqual(treeOf(withSecurity({ TrustedProxies: given })).Security.TrustedProxies, [
      "203.0.113.7",
      "10.1.0.0/16",
      "2001:db8::/32",
      "127.0.0.0/8",
      "::1/128",
      "10.0.0.0/8",
      "172.16.0.0/12",
      "192.168.0.0/16",
      "fc00::/7",
    ])
  })

  it.each([
    ...["10", "010.1.1.1", "10.0.0.0/33", "proxy.example", "10.0.0.0/", "1.2.3", "fe80::1%eth0", "[::1]"],
    ...["10.0.0.0/08", "fd00::/064", "::ffff:10.0.0.0/90", "10.0.0.0/8/8"],
  ])("the proxy %s is refused", (given) => {
    assert.deepStrictEqual(pathsOf(withSecurity({ TrustedProxies: [given] })), ["Security.TrustedProxies.0"])
  })

  it("the settings accept exactly the proxies that the gate can compile", () => {
    const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength: 3 })
    const base = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.ipV4().map((address) => `::ffff:${address}`),
      fc.string({ unit: fc.constantFrom(..."01fF.:%[]/ "), maxLength: 12 }),
    )
    fc.assert(
      fc.property(base, fc.oneof(digits, fc.constant(undefined)), (address, prefix) => {
        const given = prefix === undefined ? address : `${address}/${prefix}`
        const result = resolveSettings(withSecurity({ TrustedProxies: [given] }), NO_VARIABLES)
        if (Result.isSuccess(result)) trustedProxies(result.success.tree.Security.TrustedProxies)
      }),
    )
  })

  it("origins and proxies that trust or allow everyone cause a warning", () => {
    const { warnings } = valid(withSecurity({ AllowedOrigins: "*", TrustedProxies: "0.0.0.0/0" }))
    assert.lengthOf(
      warnings.filter((warning) => /any web page|trusts every address/.test(warning)),
      2,
    )
  })
})
